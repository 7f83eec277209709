import { openEmbeddedClickhouse } from './embedded-clickhouse.ts'
import { mkdtempSync } from 'node:fs'
const dir = mkdtempSync('/tmp/qchdb-')
const logger: any = { info() {}, warn: console.warn, error: console.error, debug() {} }
const ch = await openEmbeddedClickhouse({ data_dir: dir, logger } as any)
await ch.command("CREATE TABLE t (a UInt64, b String) ENGINE=MergeTree ORDER BY a")
await ch.command("INSERT INTO t SELECT number, toString(sipHash64(number)) FROM numbers(5000000)")
const med = (v:number[],q:number)=>v.sort((a,b)=>a-b)[Math.floor(v.length*q)]!
const short = async (p:string, ms=8000) => { const out:number[]=[]; const end=performance.now()+ms; while(performance.now()<end){ const b=performance.now(); await ch.query(`select sum(length(b)) s from t where a < 400000 SETTINGS max_threads=2 ${p}`,{}); out.push(performance.now()-b); await new Promise(r=>setTimeout(r,50)) } return `${med(out,.5).toFixed(1)} p95 ${med(out,.95).toFixed(1)} n ${out.length}` }
const heavy = async (p:string, stop:AbortSignal) => { let n=0; const b=performance.now(); while(!stop.aborted){ try { const s = await ch.stream(`select * from t order by b SETTINGS max_threads=2 ${p}`, {format:'Parquet', signal: stop} as any); for await (const _ of s){}; n++ } catch(e){ if(!stop.aborted) throw e } } return `${n} pulls in ${((performance.now()-b)/1000).toFixed(1)}s` }
for (let k=0;k<3;k++) for (const [name,a,b] of [['alone','',null],['none','',''],['prio',', priority=1',', priority=2, low_priority_query_wait_time_ms=100'],['1thread','',', max_threads=1']] as const) {
  if (b===null) { console.log(name, await short(a)); continue }
  const c=new AbortController(); const h=heavy(b,c.signal); const r=await short(a); c.abort(); console.log(name, r, '| heavy', await h)
}
await ch.close()
process.exit(0)
