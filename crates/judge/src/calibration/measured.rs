//! Measures a judge.

use std::sync::Arc;

use sortie_detect::{Calibration, Measured};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::labelled::Labelled;
use crate::Judge;

/// Has transcripts judged, at most `jobs` at a time.
pub async fn calibrate(judge: &Judge, labelled: Vec<Labelled>, jobs: usize) -> Calibration {
    let room = Arc::new(Semaphore::new(jobs.clamp(1, Semaphore::MAX_PERMITS)));
    let mut tasks = JoinSet::new();
    for (index, labelled) in labelled.into_iter().enumerate() {
        let (judge, room) = (judge.clone(), room.clone());
        tasks.spawn(async move {
            // Nobody closes it.
            let _permit = room.acquire().await;
            let judged = judge.judge(&labelled.rubric, &labelled.transcript, &labelled.purpose()).await;
            let Labelled { evaluator, case, expect, .. } = labelled;
            (index, Measured { evaluator, case, expect, judged })
        });
    }
    let mut measured = tasks.join_all().await;
    measured.sort_by_key(|(index, _)| *index);
    let measured = measured.into_iter().map(|(_, measured)| measured).collect();
    Calibration::new(measured, judge.provenance())
}
