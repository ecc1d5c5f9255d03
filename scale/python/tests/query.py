"""Runs a query with DataFusion's Python package and the functions of this module, and prints its rows as JSON Lines.

usage: query.py FOLDER-OF-THE-MODULE SQL
"""

import json
import sys

from datafusion import SessionContext, udaf, udf, udtf

sys.path.insert(0, sys.argv[1])
import sortie_datafusion

session = SessionContext().enable_url_table()
session.register_udf(udf(sortie_datafusion.Findings()))
session.register_udaf(udaf(sortie_datafusion.Verdict()))
session.register_udtf(udtf(sortie_datafusion.Scan(), "oatf_scan"))
session.register_udtf(udtf(sortie_datafusion.Records(), "oatf_records"))
for batch in session.sql(sys.argv[2]).execute_stream():
    for row in batch.to_pyarrow().to_pylist():
        sys.stdout.write(json.dumps(row, ensure_ascii=False) + "\n")
