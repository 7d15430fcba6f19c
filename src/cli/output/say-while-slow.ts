import type { CommandContext } from '../command.ts';

const FIRST_MS = 1000;
const AGAIN_MS = 5000;

/** Tells a person at a terminal, after a second and then now and again, what a command that prints nothing is doing. */
export async function sayWhileSlow<T>(
  { isTerminal, warn }: Pick<CommandContext, 'isTerminal' | 'warn'>,
  doing: () => string,
  run: () => Promise<T>,
): Promise<T> {
  if (!isTerminal) return run();
  let timer: NodeJS.Timeout | undefined;
  const wait = (ms: number): void => {
    timer = setTimeout(() => {
      warn(`postern: ${doing()}`);
      wait(AGAIN_MS);
    }, ms);
  };
  wait(FIRST_MS);
  try {
    return await run();
  } finally {
    clearTimeout(timer);
  }
}
