//! How long requests take, by route, as a histogram in Prometheus' text format.

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Upper bounds of the buckets, microseconds; what takes longer is in one more.
const BOUNDS_US: [u64; 12] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 500_000, 2_500_000, 10_000_000];

/// The answers of one route, by how long they took.
#[derive(Default)]
struct Times {
    buckets: [AtomicU64; BOUNDS_US.len() + 1],
    sum_us: AtomicU64,
}

/// The answers of all routes: one entry a row of the table of routes, whatever is asked.
pub struct Latency {
    routes: BTreeMap<(&'static str, &'static str), Times>,
}

impl Latency {
    /// No answers yet, of routes with these methods and paths.
    pub fn new(routes: impl Iterator<Item = (&'static str, &'static str)>) -> Latency {
        Latency { routes: routes.map(|route| (route, Times::default())).collect() }
    }

    fn note(&self, method: &str, path: &str, took: Duration) {
        let Some(times) = self.routes.get(&(method, path)) else { return };
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_US.partition_point(|bound| *bound < took_us);
        times.buckets[bucket].fetch_add(1, Relaxed);
        times.sum_us.fetch_add(took_us, Relaxed);
    }

    /// The histogram, without the routes that nobody has asked.
    pub fn prometheus(&self) -> String {
        let mut text = "# HELP pasd_request_seconds Time to the answer, waits for circuits that \
                        the request asked for included.\n# TYPE pasd_request_seconds histogram\n"
            .to_owned();
        for ((method, path), times) in &self.routes {
            let counts: Vec<u64> = times.buckets.iter().map(|count| count.load(Relaxed)).collect();
            let all: u64 = counts.iter().sum();
            if all == 0 {
                continue;
            }
            let labels = format!("method={method:?},path={path:?}");
            let bounds = BOUNDS_US.iter().map(|bound| (*bound as f64 / 1e6).to_string());
            let mut so_far = 0;
            for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(counts) {
                so_far += count;
                // Writing to a String cannot fail.
                let bucket = "pasd_request_seconds_bucket";
                let _ = writeln!(text, "{bucket}{{{labels},le={bound:?}}} {so_far}");
            }
            let sum = times.sum_us.load(Relaxed) as f64 / 1e6;
            let _ = writeln!(text, "pasd_request_seconds_sum{{{labels}}} {sum}");
            let _ = writeln!(text, "pasd_request_seconds_count{{{labels}}} {all}");
        }
        text
    }
}

/// Times a request that a route has been found for.
pub async fn time(
    State(latency): State<Arc<Latency>>,
    path: MatchedPath,
    request: Request,
    next: Next,
) -> Response {
    let (method, begun) = (request.method().clone(), Instant::now());
    let answer = next.run(request).await;
    latency.note(method.as_str(), path.as_str(), begun.elapsed());
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_count_what_took_no_longer() {
        let latency = Latency::new([("GET", "/a"), ("PUT", "/b")].into_iter());
        for took_us in [1, 100, 101, 11_000_000] {
            latency.note("GET", "/a", Duration::from_micros(took_us));
        }
        latency.note("GET", "/unknown", Duration::ZERO);
        let text = latency.prometheus();
        let line = |bound: &str| {
            let line = format!(r#"_bucket{{method="GET",path="/a",le="{bound}"}} "#);
            let at = text.find(&line).expect(bound);
            text[at + line.len()..].lines().next().expect("a count").to_owned()
        };
        assert_eq!((line("0.0001"), line("0.00025")), ("2".into(), "3".into()));
        assert_eq!((line("10"), line("+Inf")), ("3".into(), "4".into()));
        assert!(text.contains(r#"_sum{method="GET",path="/a"} 11.000202"#), "{text}");
        assert!(text.contains(r#"_count{method="GET",path="/a"} 4"#));
        assert!(!text.contains("/b") && !text.contains("/unknown"), "{text}");
    }
}
