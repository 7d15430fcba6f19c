import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createLog } from './logger.ts';
import { readableLine, TerminalLines } from './terminal-lines.ts';

function logged(write: (logger: ReturnType<typeof createLog>['logger']) => void): string {
  let text = '';
  const log = createLog('info', {
    write: (line) => {
      text += line;
    },
  });
  write(log.logger);
  log.flush();
  return text;
}

const REQUEST = { level: 'info', time: '2026-01-02T03:04:05.678Z', method: 'GET', status: 200, ms: 7.6 };
const wallClock = new Date(REQUEST.time).toTimeString().slice(0, 8);
const readableSource = (fields: object): string =>
  `${JSON.stringify({ ...REQUEST, ...fields, ...('msg' in fields ? {} : { msg: 'traffic' }) })}\n`;

function terminal({ columns, nowMs }: { columns?: number; nowMs?: () => number }, requests: readonly object[]) {
  const shown: string[] = [];
  const lines = new TerminalLines(
    { write: (text) => shown.push(text) },
    { columns: () => columns, ...(nowMs !== undefined && { nowMs }) },
  );
  lines.write(requests.map(readableSource).join(''));
  return { shown, lines };
}

suite('log', () => {
  test('writes one JSON line per entry, with time, level by name and message', () => {
    const line = JSON.parse(logged((logger) => logger.info({ port: 1 }, 'ready'))) as Record<string, unknown>;
    assert.deepEqual({ ...line, time: null }, { level: 'info', time: null, port: 1, msg: 'ready' });
    assert.match(String(line['time']), /^\d{4}-\d\d-\d\dT.*Z$/);
  });

  test('redacts secret fields, at the top and nested', () => {
    const text = logged((logger) =>
      logger.info(
        { token: 'planted', config: { client_secret: 'planted' }, req: { headers: { authorization: 'planted' } } },
        'x',
      ),
    );
    assert.doesNotMatch(text, /planted/);
    assert.match(text, /\[secret\]/);
  });

  test('omits entries below the level', () => {
    assert.equal(
      logged((logger) => logger.debug('x')),
      '',
    );
  });

  test('is short on a terminal', () => {
    const line = '{"level":"warn","time":"2026-01-02T03:04:05.678Z","port":1,"who":"a","msg":"odd"}\n';
    assert.equal(readableLine(line), `${wallClock} warn  odd port=1 who=a\n`);
  });

  test('has one short line per request on a terminal, with the person, cut to its width', () => {
    const wiki = { host: 'wiki.localhost', path: `/${'a'.repeat(60)}`, person: 'ana@example.com', user: 'ua_1' };
    const { shown } = terminal({ columns: 80 }, [
      { host: 'wiki.localhost', path: '/x', user: 'sa_1' },
      { ...wiki },
      { host: null, path: null, method: null, status: 400, refused_by: 'edge:bad_http' },
      { host: 'a.example', path: null, method: null, status: 0, ms: 0, refused_by: 'edge:no_site_for_this_name' },
    ]);
    const [short = '', long = '', unread, unknown] = shown;
    assert.equal(short, `${wallClock} GET wiki.localhost/x 200 8 ms sa_1\n`);
    assert.equal(long.length, 81);
    assert.match(long, /GET wiki\.localhost\/a+… 200 8 ms ana@example\.com\n$/);
    assert.equal(unread, `${wallClock} -  400 8 ms bad http\n`);
    assert.equal(unknown, `${wallClock} - a.example - 0 ms no site for this name\n`);
  });

  test('has a short line for a request to the API, too', () => {
    const line = { ...REQUEST, path: '/edges/https', operation: 'https_edges.list', msg: 'request' };
    const shown: string[] = [];
    new TerminalLines({ write: (text) => shown.push(text) }).write(`${JSON.stringify(line)}\n`);
    assert.deepEqual(shown, [`${wallClock} GET API /edges/https 200 8 ms\n`]);
  });

  test('breaks a sentence at words on a narrow terminal', () => {
    const shown: string[] = [];
    const lines = new TerminalLines({ write: (text) => shown.push(text) }, { columns: () => 40 });
    const msg = 'the certificate of the site ends in some days';
    lines.write(`${JSON.stringify({ level: 'warn', time: REQUEST.time, msg, host: 'a.example' })}\n`);
    assert.deepEqual(shown, [`${wallClock} warn  the certificate of the\n  site ends in some days host=a.example\n`]);
  });

  test('shows requests to the API on a terminal at the level debug only, and in JSON always', () => {
    const shown = (level: 'info' | 'debug', isForTerminal: boolean): string => {
      const lines: string[] = [];
      const log = createLog(level, { write: (text) => void lines.push(text) }, undefined, isForTerminal);
      log.requestLogger.info({ host: 'a.example' }, 'traffic');
      log.apiRequestLogger.info({ path: '/edges' }, 'request');
      log.flush();
      return lines.join('').replaceAll(/.*?"msg":"(\w+)"\}\n/g, '$1 ');
    };
    assert.deepEqual(
      [shown('info', true), shown('debug', true), shown('info', false)],
      ['traffic ', 'traffic request ', 'traffic request '],
    );
  });

  test('lets no visitor control the terminal', () => {
    const { shown } = terminal({}, [
      { host: 'a\u001b[2J', path: '/\u009b31m\n12:00:00 GET forged 200', person: '\u202eana' },
    ]);
    assert.equal(shown.length, 1);
    assert.match(shown[0] ?? '', /^[\x20-\x7e]+\n$/);
    const line = JSON.stringify({ ...REQUEST, msg: 'x\u001b', who: '\u001b]0;t\u0007', level: 'warn' });
    assert.match(readableLine(line), /^[\x20-\x7e]+\n$/);
  });

  test('sums up requests that arrive faster than anybody reads', async () => {
    let nowMs = 0;
    const { shown, lines } = terminal({ nowMs: () => nowMs }, new Array(352).fill({ host: 'a.localhost', path: '/' }));
    assert.equal(shown.length, 40);
    lines.write(readableSource({ level: 'warn', msg: 'odd' }));
    assert.match(shown.at(-1) ?? '', /warn {2}odd/, 'other lines do not wait');
    nowMs = 1_000;
    lines.write(readableSource({ host: 'a.localhost', path: '/next' }));
    assert.deepEqual(shown.slice(41), ['… and 312 more\n', `${wallClock} GET a.localhost/next 200 8 ms\n`]);
    for (let count = 0; count < 42; count += 1) lines.write(readableSource({ host: 'a.localhost', path: '/' }));
    lines.flush();
    assert.equal(shown.at(-1), '… and 3 more\n');
  });

  test('shows a person at a terminal the stack of a mistake in the program, and not of a full disk', () => {
    const lineWith = (err: object, level = 'error'): string =>
      readableLine(JSON.stringify({ level, time: '2026-01-02T03:04:05.678Z', msg: 'cannot write', err }));
    const stack = 'Error: x\n    at write (file.ts:1:1)';
    assert.equal(
      lineWith({ code: 'ENOSPC', message: 'no space left on device', stack }),
      '03:04:05 error cannot write\n  no space left on device\n',
    );
    assert.equal(
      lineWith({ code: 'ERR_POSTERN_STORE_FULL', message: 'the disk is full', stack }),
      '03:04:05 error cannot write\n  the disk is full\n',
    );
    assert.match(lineWith({ code: 'ERR_INVALID_ARG_TYPE', message: 'x', stack }), /at write/);
    assert.match(lineWith({ message: 'x', stack }), /at write/);
    assert.match(lineWith({ code: 'EPIPE', message: 'x', stack }, 'fatal'), /at write/);
  });
});
