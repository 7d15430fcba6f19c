import { queryString } from '../../client/fill-path.ts';
import type { Transport } from '../../client/transport.ts';
import { isOn, type ParsedFlags, usage } from '../../lib/flags.ts';
import { printable } from '../api/cell-text.ts';
import { terminalWidth } from '../api/terminal-width.ts';
import type { CommandContext } from '../command.ts';
import { Names } from '../names/names.ts';
import { outputFormat } from '../output/output-format.ts';
import { printTable } from '../output/rows-table.ts';
import { printStructured } from '../output/structured-text.ts';
import { timeFlag } from '../time-flag.ts';
import { authorText, type Change, namedText, type PendingChange, pendingText } from './change.ts';

const PAGE = 100;
const DEFAULT_LIMIT = 50;
/** A narrower terminal has room for what was changed, and `changes show` has the message. */
const MESSAGE_FROM = 100;
/** A site is known by its host, not by what else it consists of. */
const FIRST_NAMED = ['https_edge', 'https_edge_route'];

interface Page {
  readonly changes: readonly Change[];
  readonly next_page_uri: string | null;
  /** Absent: a server before this one. */
  readonly pending?: PendingChange | null;
}

export async function listChanges(transport: Transport, parsed: ParsedFlags, context: CommandContext): Promise<number> {
  const { flags, positionals } = parsed;
  if (positionals.length > 0) throw usage('unexpected argument: see postern changes --help');
  const format = outputFormat(flags);
  const { changes, hasMore, pending } = await readChanges(transport, flags, new Names(transport, context));
  if (format === 'json' || format === 'yaml') printStructured({ changes, pending }, format, context);
  else if (format === 'id') for (const { revision } of changes) context.print(String(revision));
  else if (changes.length === 0) context.warn('none');
  else {
    const hasMessage = (terminalWidth(context) ?? MESSAGE_FROM) >= MESSAGE_FROM;
    const rows = changes.map((change) => rowOf(change, hasMessage));
    printTable(rows, context, { isUtc: isOn(parsed, 'utc') });
  }
  if (format === 'table' && pending !== null) context.warn(`postern: ${printable(pendingText(pending))}`);
  if (hasMore) context.warn('postern: there are older changes: use --limit NUMBER or --until TIME to see them');
  return 0;
}

async function readChanges(
  transport: Transport,
  flags: ParsedFlags['flags'],
  names: Names,
): Promise<{ readonly changes: readonly Change[]; readonly hasMore: boolean; readonly pending: PendingChange | null }> {
  const limit = limitOf(flags.get('limit'));
  const [since, until, author, object] = ['since', 'until', 'author', 'object'].map((name) => flags.get(name));
  const filters = {
    ...(since !== undefined && { since: timeFlag('since', since) }),
    ...(until !== undefined && { until: timeFlag('until', until) }),
    ...(author !== undefined && { author_id: await names.idOfKinds(['api_key'], author) }),
    ...(object !== undefined && { object_id: await names.idOfAny(object) }),
    limit: Math.min(limit, PAGE),
  };
  const changes: Change[] = [];
  let path = `/changes${queryString(filters)}`;
  for (;;) {
    const page = JSON.parse((await transport.send({ method: 'GET', path })).text) as Page;
    changes.push(...page.changes);
    const { next_page_uri: next, pending = null } = page;
    if (next === null || changes.length >= limit) {
      return { changes: changes.slice(0, limit), hasMore: next !== null || changes.length > limit, pending };
    }
    // Only the query: the key goes to the address that the user named.
    path = `/changes${new URL(next).search}`;
  }
}

function rowOf(change: Change, hasMessage: boolean) {
  const { revision, at, author, message, objects, count, confirm_by: confirmBy } = change;
  const [site] = FIRST_NAMED.flatMap((wanted) => objects.find(({ kind }) => kind === wanted) ?? []);
  const first = site ?? objects[0];
  const others = count > 1 ? ` and ${count - 1} more` : '';
  return {
    revision,
    when: at,
    who: authorText(author),
    what: first === undefined ? '' : `${first.change} ${namedText(first)}${others}`,
    ...(hasMessage && { message: printable(confirmBy ? `(pending) ${message}` : message) }),
  };
}

function limitOf(given: string | undefined): number {
  if (given === undefined) return DEFAULT_LIMIT;
  if (!/^[1-9]\d{0,5}$/.test(given)) throw usage('--limit must be a whole number from 1 to 999999');
  return Number(given);
}
