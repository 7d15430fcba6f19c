import { queryString } from '../../client/fill-path.ts';
import type { Transport } from '../../client/transport.ts';
import { isOn, type ParsedFlags, usage } from '../../lib/flags.ts';
import { printable } from '../api/cell-text.ts';
import { terminalWidth } from '../api/terminal-width.ts';
import { isJsonOutput } from '../changes/output-flag.ts';
import type { CommandContext } from '../command.ts';
import { printTableLines } from '../output/rows-table.ts';
import { printJson } from '../output/structured-text.ts';
import { timeFlag } from '../time-flag.ts';
import { CallerNames, readRequest } from './caller-names.ts';
import { requestDetails, requestTable, type ShownRequest, wholeLine } from './request-lines.ts';
import { filtersOf } from './tail-requests.ts';

const DEFAULT_LIMIT = '50';

/** The newest requests, one line each. */
export async function listRequests(
  transport: Transport,
  parsed: ParsedFlags,
  context: CommandContext,
): Promise<number> {
  const { flags, positionals } = parsed;
  if (positionals.length > 0) throw usage('unexpected argument: see postern requests --help');
  const limit = flags.get('limit') ?? DEFAULT_LIMIT;
  if (!/^([1-9]\d?|100)$/.test(limit)) throw usage('--limit must be a whole number from 1 to 100');
  const since = flags.get('since');
  const query = { ...filtersOf(flags), limit, ...(since !== undefined && { since: timeFlag('since', since) }) };
  const { text } = await transport.send({ method: 'GET', path: `/requests${queryString(query)}` });
  if (isJsonOutput(flags)) {
    printJson(text, context);
    return 0;
  }
  const { requests, nodes } = JSON.parse(text) as {
    readonly requests: readonly ShownRequest[];
    readonly nodes: readonly { readonly name: string; readonly answered: boolean }[];
  };
  if (requests.length === 0) context.warn('none');
  const columns = terminalWidth(context);
  if (columns === null) for (const request of requests) context.print(wholeLine(request));
  else if (requests.length > 0) {
    const callers = new CallerNames(transport);
    const read = await Promise.all(requests.map((request) => readRequest(request, callers)));
    printTableLines(requestTable(read, columns, isOn(parsed, 'utc')), context);
  }
  const silent = nodes.filter(({ answered }) => !answered).map(({ name }) => name);
  if (silent.length > 0) context.warn(`postern: no answer from ${silent.join(', ')}: their requests are missing`);
  return 0;
}

/** One request with the decisions of its modules. */
export async function showRequest(
  transport: Transport,
  { flags, positionals }: ParsedFlags,
  context: CommandContext,
): Promise<number> {
  const [id, ...others] = positionals;
  if (id === undefined || others.length > 0)
    throw usage('postern requests show takes the id of one request: the value of its Postern-Request-Id header');
  if (!id.startsWith('rq_'))
    throw usage(`${printable(id)} is not the id of a request: ids start with rq_, and "postern requests" lists them`);
  const isJson = isJsonOutput(flags);
  const { text } = await transport.send({ method: 'GET', path: `/requests/${encodeURIComponent(id)}` });
  if (isJson) printJson(text, context);
  else for (const line of requestDetails(JSON.parse(text) as ShownRequest)) context.print(line);
  return 0;
}
