import type { Transport } from '../../client/transport.ts';
import { type ParsedFlags, usage } from '../../lib/flags.ts';
import type { CommandContext } from '../command.ts';
import { timeFlag } from '../time-flag.ts';

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
