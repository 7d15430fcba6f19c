import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';

/** One line from the terminal; empty at its end (Ctrl-D). */
export async function askQuestion(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const closed = once(lines, 'close').then(() => '');
  try {
    return await Promise.race([lines.question(question), closed]);
  } finally {
    lines.close();
  }
}
