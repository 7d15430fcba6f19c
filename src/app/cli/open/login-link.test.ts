import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browserCommand } from './login-link.ts';

const URL_OF_CONSOLE = 'http://127.0.0.1:7080/console?a=1&b=2';
const CASES: readonly (readonly [string, NodeJS.Platform, Record<string, string>, string | null])[] = [
  ['macOS', 'darwin', {}, 'open'],
  ['Windows', 'win32', {}, 'rundll32'],
  ['X11', 'linux', { DISPLAY: ':0' }, 'xdg-open'],
  ['Wayland', 'linux', { WAYLAND_DISPLAY: 'wayland-0' }, 'xdg-open'],
  ['a server without a screen', 'linux', { DISPLAY: '' }, null],
];

for (const [where, platform, env, program] of CASES) {
  test(`${program ?? 'nothing'} opens a URL on ${where}`, () => {
    const command = browserCommand(URL_OF_CONSOLE, platform, env);
    assert.equal(command?.[0] ?? null, program);
    if (command !== null) assert.equal(command.at(-1), URL_OF_CONSOLE);
  });
}
