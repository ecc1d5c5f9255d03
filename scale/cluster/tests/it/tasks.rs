//! What the tasks of a stage read, without a cluster.

use std::sync::Arc;

use ballista_scheduler::state::task_builder::restrict_plan_to_partitions;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _, collect};
use datafusion::prelude::SessionContext;
use datafusion_proto::physical_plan::AsExecutionPlan as _;
use datafusion_proto::protobuf::PhysicalPlanNode;
use sortie_cluster::codec::TracePhysicalCodec;
use sortie_cluster::session::local_session;
use sortie_datafusion::TraceTable;

use crate::write_corpus;

/// A plan as an executor gets it that runs some of the partitions.
fn task_plan(
    session: &SessionContext,
    plan: &Arc<dyn ExecutionPlan>,
    partitions: &[usize],
) -> Arc<dyn ExecutionPlan> {
    let codec = TracePhysicalCodec::default();
    let plan = restrict_plan_to_partitions(Arc::clone(plan), partitions).unwrap();
    let mut bytes = Vec::new();
    PhysicalPlanNode::try_from_physical_plan(plan, &codec).unwrap().try_encode(&mut bytes).unwrap();
    let sent = PhysicalPlanNode::try_decode(&bytes).unwrap();
    sent.try_into_physical_plan(&session.task_ctx(), &codec).unwrap()
}

/// The rows of a plan, as sorted text.
async fn rows(session: &SessionContext, plan: Arc<dyn ExecutionPlan>) -> Vec<String> {
    let batches = collect(plan, session.task_ctx()).await.unwrap();
    let table = pretty_format_batches(&batches).unwrap().to_string();
    let mut rows: Vec<String> =
        table.lines().filter(|line| line.contains("traces-")).map(str::to_owned).collect();
    rows.sort_unstable();
    rows
}

#[tokio::test]
async fn the_tasks_of_a_stage_read_every_part_once() {
    let folder = tempfile::tempdir().unwrap();
    write_corpus(folder.path(), 2_000);
    let session = local_session(Some(5)).unwrap();
    let traces = folder.path().to_str().unwrap();
    for (table, columns) in [
        (TraceTable::findings(traces, "library").unwrap(), "source, session, seq, id"),
        (TraceTable::records(traces).unwrap(), "source, session, seq"),
    ] {
        session.deregister_table("traces").unwrap();
        session.register_table("traces", Arc::new(table.with_part_bytes(20_000))).unwrap();
        let query = session.sql(&format!("SELECT {columns} FROM traces")).await.unwrap();
        let plan = query.create_physical_plan().await.unwrap();
        assert_eq!(plan.output_partitioning().partition_count(), 5);
        let expected = rows(&session, Arc::clone(&plan)).await;
        assert!(expected.len() > 50, "{}", expected.len());
        let mut found = Vec::new();
        for slice in [&[1][..], &[4, 0], &[3, 2]] {
            let task = task_plan(&session, &plan, slice);
            assert_eq!(task.output_partitioning().partition_count(), slice.len());
            found.extend(rows(&session, task).await);
        }
        found.sort_unstable();
        assert_eq!(expected, found);
        // A branch of a union that a task does not run.
        assert!(rows(&session, task_plan(&session, &plan, &[])).await.is_empty());
    }
}
