//! The loss and the metrics that the program told of.

use super::{px, titled};
use crate::report::digest::Digest;
use crate::report::words;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// A chart's plot, in the picture's units.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 220.0;
/// Room for the figures at the left and below.
const LEFT: f64 = 76.0;
const BELOW: f64 = 24.0;

/// A curve: step and value; a gap where the value was not a number.
type Curve = Vec<(u64, Option<f64>)>;

pub(super) fn section(digest: &Digest) -> Markup {
    let what = html! {
        p {
            "The loss says how wrong the model still is; training makes it fall. PAS learns it \
            only where the program reports it (pas_report_loss in pas.h), and never guesses. It \
            serves to decide who gets circuits when they are scarce: a job that has learnt what \
            it can gains little from a faster network."
        }
    };
    let loss: Curve = digest.losses.iter().map(|report| (report.step, report.loss)).collect();
    let mut metrics: BTreeMap<&str, Curve> = BTreeMap::new();
    for report in &digest.losses {
        for (name, value) in &report.metrics {
            metrics.entry(name).or_default().push((report.step, Some(*value)));
        }
    }
    let target = |name: &str| digest.hint.as_ref().and_then(|hint| hint.targets.get(name)).copied();
    let body = html! {
        @if loss.is_empty() {
            p class="empty" {
                "The program reported no loss. One call in its training loop does it: "
                code { "pas_report_loss(step, loss);" }
            }
        } @else {
            @if let Some(hint) = &digest.hint {
                p { "At the end the loss was " b { (words::trend(hint.trend)) } "." }
            }
            div class="charts" {
                (chart("loss", &loss, None))
                @for (name, curve) in &metrics { (chart(name, curve, target(name))) }
            }
        }
    };
    titled("training", "Training", what, body)
}

fn chart(name: &str, curve: &Curve, target: Option<f64>) -> Markup {
    let values = || curve.iter().filter_map(|(_, value)| *value).chain(target);
    let least = values().fold(f64::INFINITY, f64::min);
    let most = values().fold(f64::NEG_INFINITY, f64::max);
    let (Some((first, _)), Some((last, _))) = (curve.first(), curve.last()) else {
        return html! {};
    };
    let lost = curve.iter().filter(|(_, value)| value.is_none()).count();
    let (height, width) = ((most - least).max(1e-12), last.saturating_sub(*first).max(1) as f64);
    let x = |step: u64| LEFT + step.saturating_sub(*first) as f64 / width * WIDTH;
    let y = |value: f64| 8.0 + (most - value) / height * HEIGHT;
    let view = format!("0 0 {} {}", px(LEFT + WIDTH + 8.0), px(HEIGHT + BELOW + 12.0));
    let ending =
        curve.iter().rev().find_map(|(_, value)| *value).map_or(String::new(), words::figure);
    html! {
        figure {
            figcaption {
                b { (name) } @if !ending.is_empty() { ", last " (ending) }
                @if lost > 0 { ", not a number in " (words::plural(lost as u64, "report")) }
            }
            svg class="chart" viewBox=(view) role="img" aria-label=(format!("{name} by step")) {
                @if least.is_finite() {
                    @for part in 0..=2 {
                        @let value = least + height * f64::from(part) / 2.0;
                        line class="rule" x1=(px(LEFT)) x2=(px(LEFT + WIDTH)) y1=(px(y(value)))
                            y2=(px(y(value))) {}
                        text class="left" x=(px(LEFT - 8.0)) y=(px(y(value) + 4.0)) {
                            (words::figure(value))
                        }
                    }
                    @if let Some(target) = target {
                        line class="target" x1=(px(LEFT)) x2=(px(LEFT + WIDTH)) y1=(px(y(target)))
                            y2=(px(y(target))) {}
                        text class="right" x=(px(LEFT + WIDTH)) y=(px(y(target) + 17.0)) {
                            "target " (words::figure(target))
                        }
                    }
                    path class="curve" d=(path(curve, x, y)) {}
                }
                text x=(px(LEFT)) y=(px(HEIGHT + BELOW + 4.0)) { "step " (words::count(*first)) }
                text class="right" x=(px(LEFT + WIDTH)) y=(px(HEIGHT + BELOW + 4.0)) {
                    "step " (words::count(*last))
                }
            }
        }
    }
}

/// The curve as a path; it is lifted where a value was not a number.
fn path(curve: &Curve, x: impl Fn(u64) -> f64, y: impl Fn(f64) -> f64) -> String {
    let mut path = String::new();
    let mut pen_down = false;
    for (step, value) in curve {
        let Some(value) = value else {
            pen_down = false;
            continue;
        };
        let letter = if pen_down { 'L' } else { 'M' };
        path.push_str(&format!("{letter}{} {}", px(x(*step)), px(y(*value))));
        pen_down = true;
    }
    path
}
