import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { commandHelp, fitHelp } from '../../src/app/cli/command-help.ts';
import { COMMANDS } from '../../src/app/main/commands/command-list.ts';

after(() => fitHelp(null));

test('the help of every command fits a terminal of 70 and of 80 columns, but for words that are longer', async () => {
  const commands = await Promise.all(COMMANDS.map((command) => command.load()));
  for (const width of [70, 80]) {
    fitHelp(width);
    const wide = commands.flatMap((command) =>
      (command.helpFor?.([], true) ?? commandHelp(command.syntax, '', true))
        .split('\n')
        .filter((line) => isWide(line, width)),
    );
    assert.deepEqual(wide, [], `${width} columns`);
  }
});

/** A line of one word cannot be broken. */
function isWide(line: string, width: number): boolean {
  return line.length > width && line.trim().includes(' ');
}
