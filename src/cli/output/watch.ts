import { setTimeout as sleep } from 'node:timers/promises';
import { type Flag, isOn, type ParsedFlags, usage } from '../../lib/flags.ts';
import type { CommandContext } from '../command.ts';
import { durationFlag } from '../time-flag.ts';
import type { OutputFormat } from './output-format.ts';
import { appendingView, repaintingView, type WatchView } from './watch-view.ts';

export const WATCH_FLAGS: readonly Flag[] = [
  { name: 'watch', kind: 'switch', hint: '', description: 'Repeat until interrupted, and show what changes.' },
  {
    name: 'every',
    kind: 'text',
    hint: 'DURATION',
    description: 'With --watch: time between two requests, such as 2s or 500ms.',
    default: '2s',
  },
];

const DEFAULT_SECONDS = 2;
const EVERY = { unit: 'seconds', minimum: 0.1, maximum: 3_600, hasFractions: true } as const;
const EXIT_UNREACHABLE = 3;

export interface WatchOptions {
  readonly everyMs: number;
  readonly format?: OutputFormat;
}

/** Milliseconds between two rounds; null without `--watch`. */
export function watchInterval({ flags }: Pick<ParsedFlags, 'flags'>): number | null {
  const every = flags.get('every');
  if (!isOn({ flags }, 'watch')) {
    if (every !== undefined) throw usage('--every needs --watch');
    return null;
  }
  if (every === undefined) return DEFAULT_SECONDS * 1_000;
  return durationFlag('every', every, EVERY) * 1_000;
}

/**
 * Runs a command again and again until the user interrupts it. A terminal is repainted; elsewhere each new line is
 * printed once. A server that goes away after the first round is waited for. Other failures end it.
 */
export async function watch(
  context: CommandContext,
  { everyMs, format = 'table' }: WatchOptions,
  run: (context: CommandContext) => Promise<number>,
): Promise<number> {
  const ending = new AbortController();
  const stopped = new Promise<null>((resolve) => ending.signal.addEventListener('abort', () => resolve(null)));
  context.onInterrupt?.(() => ending.abort());
  const view: WatchView =
    context.isTerminal && context.env['TERM'] !== 'dumb' ? repaintingView(context) : appendingView(context, format);
  try {
    for (let round = 0; ; round += 1) {
      const [lines, warnings]: [string[], string[]] = [[], []];
      const captured: CommandContext = {
        ...context,
        print: (line) => void lines.push(...line.split('\n')),
        warn: (line) => void warnings.push(line),
        printed: async () => {},
      };
      const code = await Promise.race([run(captured), stopped]);
      if (code === null) return 0;
      const isLost = code === EXIT_UNREACHABLE && round > 0;
      // A command that printed something reports a problem by its code, and goes on.
      if (code !== 0 && !isLost && lines.length === 0) {
        view.close();
        for (const warning of warnings) context.warn(warning);
        return code;
      }
      view.show(isLost ? null : lines, warnings);
      await context.printed?.();
      await sleep(everyMs, undefined, { signal: ending.signal }).catch(() => {});
      if (ending.signal.aborted) return 0;
    }
  } finally {
    view.close();
  }
}
