import { setTimeout as sleep } from 'node:timers/promises';
import { PosternApiError, PosternConnectionError } from '../../../client/call-errors.ts';
import type { Transport } from '../../../client/transport.ts';
import { type ParsedFlags, usage } from '../../../kit/flags.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { didYouMean } from '../../../kit/text/near-match.ts';
import { openTransport, runWithApi } from '../api/api-access.ts';
import { Retried } from '../api/connection-text.ts';
import { API_EXIT_CODES, type Command, type CommandContext, type CommandSyntax, parseCommand } from '../command.ts';
import { cellText } from '../output/cell-text.ts';
import { printJson } from '../output/output-format.ts';
import { CONNECTION, switchFlag, textFlag, timeFlag } from '../shared-flags.ts';

const FILTERS = ['state', 'since', 'until'] as const;

export async function replay(
  transport: Transport,
  { flags, positionals }: ParsedFlags,
  context: CommandContext,
): Promise<number> {
  const filters = FILTERS.filter((name) => flags.has(name));
  if (positionals.length === 0) {
    const body = Object.fromEntries(filters.map((name) => [name, filterOf(name, flags.get(name) ?? '')]));
    const { text } = await transport.send({ method: 'POST', path: '/event_deliveries/replay', body });
    const { replayed } = JSON.parse(text) as { readonly replayed: number };
    context.print(`${replayed} ${replayed === 1 ? 'delivery' : 'deliveries'} queued again`);
    return 0;
  }
  if (filters.length > 0) throw usage(`use delivery ids or --${filters[0]}, not both`);
  for (const id of positionals) {
    const path = `/event_deliveries/${encodeURIComponent(id)}/replay`;
    const { text } = await transport.send({ method: 'POST', path });
    context.print(`${id} is queued again as ${(JSON.parse(text) as { readonly id: string }).id}`);
  }
  return 0;
}

function filterOf(name: (typeof FILTERS)[number], value: string): string {
  return name === 'state' ? value : timeFlag(name, value);
}

const FORBIDDEN = 403;
const EVERY_MS = 1_000;
const PAGE = 100;
/** A reader that falls further behind sees only the newest events, and gets a notice. */
const MAX_PAGES = 50;
/** Ids arrive almost in order: this many are remembered to detect duplicates. */
const REMEMBERED = 20_000;

interface Delivery {
  readonly id: string;
  readonly event: JsonObject & { readonly event_id: string; readonly event_type: string };
}

interface Reader {
  readonly context: CommandContext;
  readonly retried: Retried;
}

export async function tail(
  transport: Transport,
  { flags, positionals }: ParsedFlags,
  context: CommandContext,
): Promise<number> {
  if (positionals.length > 0) throw usage('postern events tail takes no arguments, only flags');
  const isWanted = typeFilter(flags.get('type'));
  await rejectUnknownTypes(transport, flags.get('type'));
  let left = countOf(flags.get('count'));
  const seen = new Set((await page(transport, null)).map(({ id }) => id));
  context.warn((await missingForEvents(transport)) ?? 'postern: waiting for events');
  const told = new Set<string>();
  const reader = { context, retried: new Retried(context) };
  for (;;) {
    for (const { event } of await newOnes(transport, seen, reader)) {
      // Once per event, even if several lanes deliver it.
      if (told.has(event.event_id) || !isWanted(event.event_type)) continue;
      remember(told, event.event_id);
      if (flags.get('json') === 'true') printJson(JSON.stringify(event), context);
      else context.print(lineOf(event));
      // A stalled reader makes it wait instead of filling the memory.
      await context.printed?.();
      left -= 1;
      if (left === 0) return 0;
    }
    await sleep(EVERY_MS);
  }
}

/** Oldest first. Reading stops at the page that contains only known ones. */
async function newOnes(
  transport: Transport,
  seen: Set<string>,
  { context, retried }: Reader,
): Promise<readonly Delivery[]> {
  const found: Delivery[] = [];
  try {
    let beforeId: string | null = null;
    for (let pages = 0; ; pages += 1) {
      const read: readonly Delivery[] = await page(transport, beforeId);
      const fresh = read.filter(({ id }) => !seen.has(id));
      found.push(...fresh);
      // Before the first event there is nothing to compare with.
      if (fresh.length < PAGE || (seen.size === 0 && read.length < PAGE)) break;
      if (pages >= MAX_PAGES) {
        context.warn('postern: events arrive faster than they are printed; some were skipped');
        break;
      }
      beforeId = read.at(-1)?.id ?? null;
    }
  } catch (error) {
    if (!(error instanceof PosternConnectionError)) throw error;
    retried.failed(error);
    return [];
  }
  retried.succeeded();
  for (const { id } of found) remember(seen, id);
  return found.reverse();
}

/** Events are queued only for subscriptions with a destination. Null when there is one, or the key may not check. */
async function missingForEvents(transport: Transport): Promise<string | null> {
  let subscriptions: readonly { readonly destinations: readonly unknown[] }[];
  try {
    const { text } = await transport.send({ method: 'GET', path: `/event_subscriptions?limit=${PAGE}` });
    ({ event_subscriptions: subscriptions } = JSON.parse(text));
  } catch {
    return null;
  }
  const wait = 'Waiting for events';
  if (subscriptions.length === 0)
    return `postern: no event subscription exists, so no events will arrive. Create one: postern api event-subscriptions create --sources ip_policy_created.v0 --destination-ids ID (create a destination with postern api event-destinations create). ${wait}`;
  if (subscriptions.length === PAGE || subscriptions.some(({ destinations }) => destinations.length > 0)) return null;
  return `postern: no event subscription has a destination, so no events will arrive. Add one: postern api event-subscriptions update --id ID --destination-ids ID. ${wait}`;
}

async function page(transport: Transport, beforeId: string | null): Promise<readonly Delivery[]> {
  const path = `/event_deliveries?limit=${PAGE}${beforeId === null ? '' : `&before_id=${beforeId}`}`;
  const { text } = await transport.send({ method: 'GET', path });
  return (JSON.parse(text) as { readonly event_deliveries: readonly Delivery[] }).event_deliveries;
}

function lineOf(event: JsonObject): string {
  const { event_timestamp: time, event_type: type, principal, object } = event;
  return [time, type, principal, object].map((value) => cellText(value)).join('  ');
}

function remember(set: Set<string>, id: string): void {
  set.add(id);
  if (set.size <= REMEMBERED) return;
  const [oldest] = set;
  if (oldest !== undefined) set.delete(oldest);
}

function typeFilter(given: string | undefined): (type: string) => boolean {
  if (given === undefined) return () => true;
  const wanted = patternsOf(given);
  return (type) => wanted.some((pattern) => isOfType(type, pattern));
}

function patternsOf(given: string): readonly string[] {
  return given.split(',').map((each) => each.trim());
}

function isOfType(type: string, pattern: string): boolean {
  return pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern || type === `${pattern}.v0`;
}

/** Events of a mistyped type would be waited for without end. */
async function rejectUnknownTypes(transport: Transport, given: string | undefined): Promise<void> {
  if (given === undefined) return;
  const known = await knownTypes(transport);
  const unknown = patternsOf(given).find((pattern) => !known.some((type) => isOfType(type, pattern)));
  if (known.length === 0 || unknown === undefined) return;
  const advice = didYouMean(
    unknown,
    known.map((type) => type.replace(/\.v\d+$/, '')),
  );
  throw usage(`--type: there is no event type "${unknown}".${advice} "postern api event-types list" lists them`);
}

/** Empty if the key may not read them. */
async function knownTypes(transport: Transport): Promise<readonly string[]> {
  try {
    const { text } = await transport.send({ method: 'GET', path: '/event_types' });
    const { event_types: types } = JSON.parse(text) as { readonly event_types: readonly { readonly type: string }[] };
    return types.map(({ type }) => type);
  } catch (error) {
    if (error instanceof PosternApiError && error.status === FORBIDDEN) return [];
    throw error;
  }
}

function countOf(given: string | undefined): number {
  if (given === undefined) return Number.POSITIVE_INFINITY;
  if (!/^[1-9]\d{0,8}$/.test(given)) throw usage('--count must be a whole number of at least 1');
  return Number(given);
}

type Run = (transport: Transport, parsed: ParsedFlags, context: CommandContext) => Promise<number>;

const RUNS = { tail, replay } satisfies Record<string, Run>;

const SYNTAX: CommandSyntax = {
  name: 'events',
  about:
    'Watches and replays events. Only events that a subscription with a destination requests are recorded. "postern api event-deliveries list" shows the state of each delivery.',
  subcommands: [
    {
      name: 'tail',
      about: 'print events as they are queued for delivery, until interrupted: time, type, actor, object',
      flags: [
        textFlag('type', 'TYPES', 'Only events of these types, separated by commas; "http_*" matches a prefix.'),
        textFlag('count', 'NUMBER', 'Stop after this number of events.'),
        switchFlag('json', 'Print complete events, one per line.'),
      ],
    },
    {
      name: 'replay',
      operands: '[DELIVERY…]',
      about: 'replay the named deliveries; without one, all dead deliveries, or those that the flags select',
      flags: [
        textFlag('state', 'STATE', 'Only deliveries in this state.', {
          choices: ['pending', 'delivered', 'dead', 'cancelled'],
          hint: 'pending|delivered|dead|cancelled',
          default: 'dead',
        }),
        textFlag(
          'since',
          'TIME',
          'Only deliveries queued since then: 1d, 12h, 30m or a time such as 2026-11-01T00:00:00Z.',
        ),
        textFlag('until', 'TIME', 'Only deliveries queued before then, in the same forms.'),
      ],
    },
  ],
  groups: [CONNECTION],
  examples: ["postern events tail --type 'https_edge_*'", 'postern events replay --state dead --since 1d'],
  exitCodes: API_EXIT_CODES,
};

/** Everyday operations with events; everything else is `postern api`. */
export const eventsCommand: Command = {
  syntax: SYNTAX,
  run: (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const run = RUNS[parsed.subcommand as keyof typeof RUNS];
    return runWithApi(context, async () => run(await openTransport(parsed, context), parsed, context));
  },
};
