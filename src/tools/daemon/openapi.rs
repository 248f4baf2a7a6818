//! The OpenAPI document, made from the same table as the router, so that neither can lack what
//! the other has. Bodies are shown by example: the golden files of the wire messages.

use super::http::{Route, routes};
use serde_json::{Map, Value, json};

/// `GET /openapi.json`.
pub fn document() -> Value {
    let mut paths = Map::new();
    for route in routes() {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(route.method.to_lowercase(), operation(&route));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "pasd",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The strategy daemon of PAS. Durations are integer nanoseconds, \
                relative to the moment of sending. Every message carries `version`: 1.",
        },
        "paths": paths,
        "components": { "schemas": { "Problem": problem_schema() } },
    })
}

fn operation(route: &Route) -> Value {
    let parameters: Vec<Value> = route
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| {
            let kind = if name == "rank" { "integer" } else { "string" };
            json!({ "name": name, "in": "path", "required": true, "schema": { "type": kind } })
        })
        .chain(route.query.iter().map(|(name, about)| {
            json!({ "name": name, "in": "query", "description": about,
                    "schema": { "type": "string" } })
        }))
        .collect();
    let mut operation = json!({
        "summary": route.about,
        "parameters": parameters,
        "responses": {
            "2XX": { "description": "done", "content": content(route.response) },
            "default": {
                "description": "what is wrong, which value, and what to do",
                "content": { "application/json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                } },
            },
        },
    });
    if let Some(request) = route.request {
        operation["requestBody"] = json!({ "required": true, "content": content(Some(request)) });
    }
    operation
}

fn content(example: Option<&str>) -> Value {
    let Some(example) = example else { return json!({}) };
    let example = serde_json::from_str(example).unwrap_or(Value::Null);
    json!({ "application/json": { "schema": { "type": "object" }, "example": example } })
}

fn problem_schema() -> Value {
    json!({
        "type": "object",
        "required": ["version", "error", "message"],
        "properties": {
            "version": { "type": "integer" },
            "error": { "type": "string", "description": "a stable name" },
            "message": { "type": "string" },
        },
    })
}
