"""Installs and counted money by partner, from folders of `tributary raw`: python3 report.py FOLDER"""

import sys
from pathlib import Path

import pandas as pd

folder = Path(sys.argv[1])


def read(table: str) -> pd.DataFrame:
    return pd.concat([pd.read_parquet(file) for file in sorted((folder / table).glob("*.parquet"))], ignore_index=True)


erasures = read("erasures")
up_to = erasures[erasures.install_uuid != ""].groupby("install_uuid").erased_up_to_ms.max()


def living(rows: pd.DataFrame, dated_ms: pd.Series) -> pd.DataFrame:
    """Drops what was received or is dated up to the erasure of its install."""
    return rows[dated_ms > rows.install_uuid.map(up_to).fillna(0)]


# The last row of an install is its verdict.
installs = read("installs").sort_values(["stored_at_ms", "stored_index"]).drop_duplicates("install_uuid", keep="last")
installs = living(installs, installs[["received_at_ms", "installed_at_ms"]].min(axis=1))
installs = installs[installs.pending == 0]

events = read("events")
events = living(events, events[["received_at_ms", "ts_ms"]].min(axis=1))
money = events[events.revenue_counts == 1].merge(installs[["install_uuid", "partner"]], on="install_uuid")

print(installs.groupby("partner").size().rename("installs"))
print((money.groupby(["partner", "currency"]).revenue_micros.sum() / 1e6).rename("revenue"))
