import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { generate } from '../../tools/generators/man-pages.ts';
import { packedFiles } from '../support/packed-files.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const pages = readdirSync(join(root, 'man')).map((file) => `man/${file}`);

suite('the manual pages', () => {
  test('are those of the commands, as their help says it', async () => {
    const wanted = await generate();
    assert.deepEqual(pages.toSorted(), [...wanted.keys()].toSorted());
    for (const [path, text] of wanted) assert.equal(readFileSync(join(root, path), 'utf8'), text, path);
  });

  test('have no warnings of mandoc', () => {
    const { stdout, stderr } = spawnSync('mandoc', ['-Tlint', '-Wwarning', ...pages], { cwd: root, encoding: 'utf8' });
    assert.equal(stdout + stderr, '');
  });

  test('show the flags and the text of a command', () => {
    const shown = execFileSync('mandoc', ['-Tascii', 'man/postern-edge.1'], { cwd: root, encoding: 'utf8' });
    // A printer's bold: each letter, a backspace, the letter again.
    const plain = shown.replaceAll(/.[\b]/g, '').replaceAll(/\s+/g, ' ');
    assert.match(
      plain,
      /NAME postern-edge - serves a host SYNOPSIS postern edge HOST\[:PORT\]\[\/PATH\] --to TARGET \[FLAGS\]/,
    );
    assert.match(plain, /--allow-groups GROUP,.{1,3} Let in only members of one of these groups\./);
  });

  test('are in the package', async () => {
    const packed = await packedFiles();
    assert.deepEqual(
      pages.filter((page) => !packed.has(page)),
      [],
    );
  });
});
