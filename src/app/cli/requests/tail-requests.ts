import { setTimeout as sleep } from 'node:timers/promises';
import { PosternConnectionError } from '../../../client/call-errors.ts';
import { queryString } from '../../../client/fill-path.ts';
import type { Transport } from '../../../client/transport.ts';
import { isOn, type ParsedFlags, usage } from '../../../kit/flags.ts';
import { Retried } from '../api/connection-text.ts';
import type { CommandContext } from '../command.ts';
import { printable } from '../output/cell-text.ts';
import { isJsonOutput, printJson } from '../output/output-format.ts';
import { terminalWidth } from '../output/terminal.ts';
import { timeFlag } from '../shared-flags.ts';
import { CallerNames, fittedLine, readRequest, type ShownRequest, wholeLine } from './request-lines.ts';

const EVERY_MS = 1_000;
/** Clocks of nodes differ, and a request is listed once it has finished. */
const OVERLAP_MS = 10_000;
/** A reader that falls further behind sees only the newest requests, and gets a notice. */
const MAX_PAGES = 20;
const REMEMBERED = 20_000;

interface Page {
  readonly requests: readonly ShownRequest[];
  readonly nodes: readonly { readonly name: string; readonly answered: boolean }[];
  readonly next_page_uri: string | null;
}

interface Reader {
  readonly context: CommandContext;
  readonly retried: Retried;
}

export async function tailRequests(
  transport: Transport,
  parsed: ParsedFlags,
  context: CommandContext,
): Promise<number> {
  const { flags, positionals } = parsed;
  if (positionals.length > 0) throw usage('postern requests tail takes no arguments, only flags');
  const isJson = isJsonOutput(flags);
  let left = countOf(flags.get('count'));
  const filters = filtersOf(flags);
  const since = flags.get('since');
  const seen = new Set<string>();
  const reader = { context, retried: new Retried(context) };
  let fromMs = since === undefined ? Date.now() : Date.parse(timeFlag('since', since));
  // What finished before is known; later reads overlap with it.
  if (since === undefined) await newOnes(transport, { ...filters, since: isoTime(fromMs - OVERLAP_MS) }, seen, reader);
  let silent = '';
  const callers = new CallerNames(transport);
  context.warn('postern: waiting for requests');
  for (;;) {
    const askedAtMs = Date.now();
    const found = await newOnes(transport, { ...filters, since: isoTime(fromMs - OVERLAP_MS) }, seen, reader);
    if (found !== null) {
      fromMs = Math.max(fromMs, askedAtMs);
      if (found.silent !== silent && found.silent !== '') context.warn(`postern: no answer from ${found.silent}`);
      silent = found.silent;
    }
    for (const request of found?.requests ?? []) {
      if (isJson) printJson(JSON.stringify(request), context);
      else context.print(await lineOf(request, callers, isOn(parsed, 'utc'), context));
      // A stalled reader makes it wait instead of filling the memory.
      await context.printed?.();
      left -= 1;
      if (left === 0) return 0;
    }
    await sleep(EVERY_MS);
  }
}

async function lineOf(
  request: ShownRequest,
  callers: CallerNames,
  isUtc: boolean,
  context: CommandContext,
): Promise<string> {
  const columns = terminalWidth(context);
  return columns === null ? wholeLine(request) : fittedLine(await readRequest(request, callers), columns, isUtc);
}

/** Oldest first. Null: the server could not be reached. */
async function newOnes(
  transport: Transport,
  filters: Readonly<Record<string, string>>,
  seen: Set<string>,
  { context, retried }: Reader,
): Promise<{ readonly requests: readonly ShownRequest[]; readonly silent: string } | null> {
  const found: ShownRequest[] = [];
  let silent = '';
  try {
    let path: string | null = `/requests${queryString(filters)}`;
    for (let pages = 0; path !== null; pages += 1) {
      const page = JSON.parse((await transport.send({ method: 'GET', path })).text) as Page;
      const fresh = page.requests.filter(({ id }) => !seen.has(id));
      found.push(...fresh);
      silent = page.nodes.flatMap(({ name, answered }) => (answered ? [] : [printable(name)])).join(', ');
      // Only the query: the key goes to the address that the user named.
      path = page.next_page_uri === null ? null : `/requests${new URL(page.next_page_uri).search}`;
      if (path !== null && pages >= MAX_PAGES) {
        context.warn('postern: requests arrive faster than they are printed; some were skipped');
        break;
      }
    }
  } catch (error) {
    if (!(error instanceof PosternConnectionError)) throw error;
    retried.failed(error);
    return null;
  }
  retried.succeeded();
  for (const { id } of found) remember(seen, id);
  return { requests: found.reverse(), silent };
}

function remember(seen: Set<string>, id: string): void {
  seen.add(id);
  if (seen.size <= REMEMBERED) return;
  const [oldest] = seen;
  if (oldest !== undefined) seen.delete(oldest);
}

const FILTER_NAMES = ['host', 'status', 'user', 'route'] as const;

export function filtersOf(flags: ParsedFlags['flags']): Readonly<Record<string, string>> {
  const filters: Record<string, string> = {};
  const status = flags.get('status');
  if (status !== undefined && !/^(?:0|[1-5]xx|[1-5]\d\d)$/.test(status))
    throw usage('--status must be 404, a class such as 5xx, or 0');
  for (const name of FILTER_NAMES) {
    const value = flags.get(name);
    if (value !== undefined) filters[name] = value;
  }
  return filters;
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

function countOf(given: string | undefined): number {
  if (given === undefined) return Number.POSITIVE_INFINITY;
  if (!/^[1-9]\d{0,8}$/.test(given)) throw usage('--count must be a whole number of at least 1');
  return Number(given);
}
