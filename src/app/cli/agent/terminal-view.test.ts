import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentState } from './agent-state.ts';
import { TerminalView } from './terminal-view.ts';

test('the view names every rejected container until it is no longer rejected', () => {
  const written: string[] = [];
  const view = new TerminalView({
    terminal: {
      write: (text) => written.push(text),
      size: () => ({ columns: 100, rows: 30 }),
      onResize: () => () => {},
    },
    state: new AgentState(),
    ...{ version: '0.0.0', serverAddr: '127.0.0.1:7444', inspectorUrl: null, hasColor: false },
    ...{ nowMs: () => 0, print: () => {}, warn: () => {} },
  });
  const shown = (): string => {
    view.leave();
    view.enter();
    return written.at(-1) ?? '';
  };
  for (const name of ['a', 'b', 'c', 'd', 'e'])
    view.note('warn', `container ${name}: rejected`, { container: name, rejected: true });
  for (const name of ['a', 'b', 'c', 'd']) assert.match(shown(), new RegExp(`container ${name}: rejected`));
  assert.match(shown(), /and 1 more, which the server lists: postern status/);
  view.note('info', 'container a: no longer rejected', { container: 'a', rejected: false });
  assert.doesNotMatch(shown(), /container a: rejected/);
  assert.match(shown(), /container e: rejected/);
  view.end();
});
