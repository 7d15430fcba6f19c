import { queryString } from '../../../client/fill-path.ts';
import { SITE_EDGE, SITE_ROUTE } from '../../../client/sites.ts';
import type { Transport } from '../../../client/transport.ts';
import { isOn, type ParsedFlags, usage } from '../../../kit/flags.ts';
import { openTransport, runWithApi } from '../api/api-access.ts';
import { API_EXIT_CODES, type Command, type CommandContext, type CommandSyntax, parseCommand } from '../command.ts';
import { Names } from '../names/names.ts';
import { printable } from '../output/cell-text.ts';
import { isJsonOutput, outputFlag, outputFormat, printJson, printStructured } from '../output/output-format.ts';
import { printTable } from '../output/table.ts';
import { terminalWidth } from '../output/terminal.ts';
import { WATCH_FLAGS, watch, watchInterval } from '../output/watch.ts';
import { CONNECTION, textFlag, timeFlag, UTC } from '../shared-flags.ts';
import {
  authorText,
  type Change,
  documentLines,
  namedText,
  type PendingChange,
  pendingText,
  readChange,
  revisionArgument,
} from './change.ts';

const PAGE = 100;
const DEFAULT_LIMIT = 50;
/** A narrower terminal has room for what was changed, and `changes show` has the message. */
const MESSAGE_FROM = 100;
/** A site is known by its host, not by what else it consists of. */
const FIRST_NAMED = [SITE_EDGE.kind, SITE_ROUTE.kind] as readonly string[];

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
  const what = first === undefined ? '' : `${first.change} ${namedText(first)}${others}`;
  return {
    // The name of what was changed must not be cut in a narrow terminal.
    ...(hasMessage ? { revision } : { rev: revision }),
    when: at,
    who: authorText(author),
    what: hasMessage ? what : what.replace(SITE_EDGE.kind, 'edge').replace('user_', ''),
    ...(hasMessage && { message: printable(confirmBy ? `(pending) ${message}` : message) }),
  };
}

function limitOf(given: string | undefined): number {
  if (given === undefined) return DEFAULT_LIMIT;
  if (!/^[1-9]\d{0,5}$/.test(given)) throw usage('--limit must be a whole number from 1 to 999999');
  return Number(given);
}

/** Prints who made a change, and the difference of each document, field by field. */
export async function showChange(
  transport: Transport,
  { flags, positionals }: ParsedFlags,
  context: CommandContext,
): Promise<number> {
  const revision = revisionArgument(positionals, 'postern changes show');
  const format = outputFormat(flags, ['table', 'json', 'yaml']);
  const { text, change } = await readChange(transport, revision);
  if (format !== 'table') {
    if (format === 'json') printJson(text, context);
    else printStructured(change, 'yaml', context);
    return 0;
  }
  const { at, author, message, objects, confirm_by } = change;
  const from = author.address === null ? '' : ` from ${author.address}`;
  context.print(printable(`revision ${revision}, ${at}, by ${authorText(author)}${from} (${author.via})`));
  if (message !== '') context.print(printable(message));
  if (confirm_by) context.print(printable(pendingText({ revision, confirm_by })));
  for (const document of objects) {
    for (const line of documentLines(document, 'change')) context.print(line);
    await context.printed?.();
  }
  return 0;
}

const EXIT_BROKEN = 1;

interface Verification {
  readonly intact: boolean;
  readonly checked: number;
  readonly unlinked: number;
  readonly first_broken: number | null;
}

/** Prints whether every entry of the history is as it was written. */
export async function verifyChanges(
  transport: Transport,
  { flags, positionals }: ParsedFlags,
  context: CommandContext,
): Promise<number> {
  if (positionals.length > 0) throw usage('postern changes verify takes no arguments, only flags');
  const isJson = isJsonOutput(flags);
  const { text } = await transport.send({ method: 'GET', path: '/changes/verification' });
  const { intact, checked, unlinked, first_broken: firstBroken } = JSON.parse(text) as Verification;
  if (isJson) context.print(text);
  else if (intact) {
    const waiting = unlinked === 0 ? '' : `, ${unlinked} too new to be linked`;
    context.print(`the history is intact: ${checked} ${checked === 1 ? 'entry' : 'entries'} verified${waiting}`);
  } else {
    context.print(
      `the history is broken at revision ${firstBroken}: somebody changed this entry, or removed the one before it, in the database. ${checked} older entries are intact`,
    );
  }
  return intact ? 0 : EXIT_BROKEN;
}

type Run = (transport: Transport, parsed: ParsedFlags, context: CommandContext) => Promise<number>;

const RUNS = { list: listChanges, show: showChange, verify: verifyChanges } satisfies Record<string, Run>;

const SYNTAX: CommandSyntax = {
  name: 'changes',
  about: 'Shows the history of the configuration. Without a subcommand it lists changes, newest first.',
  subcommands: [
    {
      name: 'list',
      isDefault: true,
      about: 'list changes, newest first',
      flags: [
        textFlag('since', 'TIME', 'Only changes since then: 1d, 12h, 30m or a time such as 2026-11-01T00:00:00Z.'),
        textFlag('until', 'TIME', 'Only changes before then, in the same forms.'),
        textFlag(
          'object',
          'NAME',
          'Only changes of the resource with this id or name, or of its modules: app.example.com.',
          { completedBy: [SITE_EDGE.kind, 'ip_policy', 'user_account'] },
        ),
        textFlag('author', 'NAME', 'Only changes by the API key with this id or description.', {
          completedBy: ['api_key'],
        }),
        textFlag('limit', 'NUMBER', 'Number of changes.', { default: '50' }),
        outputFlag(),
        UTC,
        ...WATCH_FLAGS,
      ],
    },
    {
      name: 'show',
      operands: 'REVISION',
      about: 'print who made a change, and what it changed, field by field; secrets are masked',
      flags: [outputFlag(['table', 'json', 'yaml'])],
    },
    {
      name: 'verify',
      about: 'check that nobody changed or removed an entry of the history in the database',
      flags: [outputFlag(['table', 'json'])],
    },
  ],
  groups: [CONNECTION],
  notes: ['"postern undo REVISION" undoes a change; "postern confirm" keeps one that waits for its confirmation.'],
  examples: [
    'postern changes --since 1d --object app.example.com',
    'postern changes show 42',
    'postern changes verify',
  ],
  exitCodes: { ...API_EXIT_CODES, 1: 'rejected by the API, or verify: the history is broken' },
};

/** The history of the configuration. */
export const changesCommand: Command = {
  syntax: SYNTAX,
  run: (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const runOne = RUNS[parsed.subcommand as keyof typeof RUNS];
    const everyMs = watchInterval(parsed);
    const run = (to: CommandContext): Promise<number> =>
      runWithApi(to, async () => runOne(await openTransport(parsed, to), parsed, to));
    return everyMs === null ? run(context) : watch(context, { everyMs }, run);
  },
};
