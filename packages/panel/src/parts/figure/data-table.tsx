import { type ReactNode, startTransition, useDeferredValue, useMemo, useState } from 'react'
import {
  Cell,
  Column,
  ResizableTableContainer,
  Row,
  type SortDescriptor,
  Table,
  TableBody,
  TableFooter,
  TableHeader,
  TableLayout,
  Virtualizer,
} from 'react-aria-components'
import { exactly, none } from '../../api/numbers.ts'
import { Skeleton } from '../skeleton.tsx'

export interface DataColumn<Item> {
  id: string
  name: string
  /** What it counts, as the report declares it. */
  help?: string
  numeric?: boolean
  value: (item: Item) => number | string | null
  /** How a value is written; as it is when absent. */
  write?: (value: never) => string
  cell?: (item: Item) => ReactNode
  /** Share of the largest value, as a bar behind the number. */
  bar?: boolean
  width?: number
  /** Whether the value may still grow. */
  immature?: (item: Item) => boolean
}

interface DataTableProps<Item> {
  label: string
  columns: readonly DataColumn<Item>[]
  items: readonly Item[]
  idOf: (item: Item, index: number) => string
  empty: ReactNode
  sort?: SortDescriptor
  /** The service sorts: rows stay in the order in which they come. */
  onSort?: (sort: SortDescriptor) => void
  /** Rows below all others, such as that of all rows together, by their names. */
  totals?: readonly (readonly [name: string, item: Item])[]
}

export type { SortDescriptor }

/** Above this, only the rows on the screen exist. */
const whole_rows_max = 120

/**
 * Rows of an answer. A click or Enter on a head sorts; absent values stay last. A thousand rows take longer to make than a click may wait
 * for its answer: the page shows all else first.
 */
export function DataTable<Item>(props: DataTableProps<Item>) {
  const isMade = useDeferredValue(true, props.items.length <= whole_rows_max)
  return isMade ? <WholeTable {...props} /> : <Skeleton shape="table" />
}

function WholeTable<Item>(props: DataTableProps<Item>) {
  const { label, columns, items, idOf, empty, sort, onSort, totals = [] } = props
  const [own, setOrder] = useState<SortDescriptor | undefined>(sort)
  const order = onSort ? sort : own
  const rows = useMemo(() => {
    const all = items.map((item, index) => ({ id: idOf(item, index), item }))
    const column = columns.find(({ id }) => id === order?.column)
    if (column === undefined || order === undefined || onSort) return all
    const sign = order.direction === 'descending' ? -1 : 1
    return all.toSorted((a, b) => compare(column.value(a.item), column.value(b.item), sign))
  }, [items, columns, order, idOf, onSort])
  const most = useMemo(
    () =>
      new Map(
        columns
          .filter(({ bar }) => bar)
          .map((one) => [one.id, Math.max(0, ...items.map((item) => Number(one.value(item)) || 0))]),
      ),
    [columns, items],
  )
  const many = rows.length > whole_rows_max
  const table = (
    <Table
      aria-label={label}
      className="table"
      {...(order && { sortDescriptor: order })}
      onSortChange={onSort ?? ((next) => startTransition(() => setOrder(next)))}
    >
      <TableHeader>
        {columns.map(({ id, name, help, numeric, width }, n) => (
          <Column
            key={id}
            id={id}
            {...(many && { minWidth: width ?? 110 })}
            isRowHeader={n === 0}
            allowsSorting
            className={numeric ? 'head numeric' : 'head'}
          >
            {({ sortDirection }) => (
              <span title={help}>
                {name}
                <span aria-hidden="true" className="sort-mark">
                  {sortDirection === 'ascending' ? '↑' : sortDirection === 'descending' ? '↓' : ''}
                </span>
              </span>
            )}
          </Column>
        ))}
      </TableHeader>
      <TableBody
        items={rows}
        renderEmptyState={() => <div className="table-empty">{empty}</div>}
        dependencies={[columns, most]}
      >
        {({ id, item }) => (
          <Row id={id} className="row">
            {columns.map((column) => (
              <Cell key={column.id} className={classOf(column, item)} textValue={String(column.value(item) ?? none)}>
                {contentOf(column, item, most.get(column.id))}
              </Cell>
            ))}
          </Row>
        )}
      </TableBody>
      {totals.length > 0 && (
        <TableFooter className="totals">
          {totals.map(([name, item]) => (
            <Row key={name} id={name} className="row">
              {columns.map((column, n) => (
                <Cell key={column.id} className={classOf(column, item)}>
                  {n === 0 ? name : column.numeric ? contentOf({ ...column, bar: false }, item) : null}
                </Cell>
              ))}
            </Row>
          ))}
        </TableFooter>
      )}
    </Table>
  )
  return (
    <div className={many ? 'table-frame many' : 'table-frame'}>
      {many ? (
        <ResizableTableContainer className="table-scroll">
          <Virtualizer layout={TableLayout} layoutOptions={{ rowHeight: 34, headingHeight: 36 }}>
            {table}
          </Virtualizer>
        </ResizableTableContainer>
      ) : (
        table
      )}
    </div>
  )
}

const classOf = <Item,>({ numeric, immature }: DataColumn<Item>, item: Item): string =>
  `cell${numeric ? ' numeric' : ''}${immature?.(item) ? ' immature' : ''}`

function contentOf<Item>(column: DataColumn<Item>, item: Item, most = 0): ReactNode {
  if (column.cell) return column.cell(item)
  const value = column.value(item)
  if (value === null || value === '') return <span className="quiet">{none}</span>
  const text = column.write ? column.write(value as never) : String(value)
  if (typeof value !== 'number')
    return (
      <span className="cut" title={text}>
        {text}
      </span>
    )
  return (
    <>
      {column.bar && most > 0 && (
        <meter className="cell-bar" min={0} max={most} value={Math.max(0, value)} aria-hidden="true" />
      )}
      <data value={value} title={exactly(value)}>
        {text}
      </data>
    </>
  )
}

function compare(a: number | string | null, b: number | string | null, sign: number): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1
  return sign * (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b)))
}
