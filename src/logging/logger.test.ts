import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createLog } from './logger.ts';
import { readableLine } from './terminal-lines.ts';

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
    assert.equal(readableLine(line), '03:04:05 warn  odd port=1 who=a\n');
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
