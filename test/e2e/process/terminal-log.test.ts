// Own process: a server on a pseudo-terminal.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { Agent, request } from 'node:https';

import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../cli/run-command.ts';
import { tempDir } from '../../support/temp-dir.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

for (const workers of ['1', '2']) {
  test(`a server on a terminal with ${workers} threads prints one short line per request, and sums up a flood`, {
    timeout: 120_000,
  }, async (t) => {
    const dataDir = await tempDir(t);
    const flags = `--data-dir '${dataDir}' --workers ${workers} --api-listen 127.0.0.1:0 --edge-listen 127.0.0.1:0 --edge-http-listen 127.0.0.1:0 --tunnel-listen 127.0.0.1:0`;
    const terminal = spawn(
      'script',
      ['-qefc', `stty cols 100; '${process.execPath}' bin/postern.mjs server ${flags}`, '/dev/null'],
      {
        ...{ cwd: root, stdio: ['ignore', 'pipe', 'ignore'] },
      } as const,
    );
    t.after(() => terminal.kill('SIGTERM'));
    const deadlineMs = performance.now() + 110_000;
    let output = '';
    terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    const until = async (pattern: RegExp): Promise<RegExpExecArray> => {
      for (;;) {
        const found = pattern.exec(output);
        if (found !== null) return found;
        assert.equal(terminal.exitCode, null, output);
        assert.ok(performance.now() < deadlineMs, `${pattern} in\n${output.slice(-4_000)}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    const [, edge = ''] = await until(/"edge":"([\d.:]+)"/);
    await until(/ edge app\.localhost/);
    const [host = '', port = ''] = edge.split(':');
    const made = await runCommand(['api', 'https-edges', 'create', '--hostports', `wiki.localhost:${port}`], {
      env: { POSTERN_DATA_DIR: dataDir },
    });
    assert.equal(made.code, 0, made.stderr);
    const agent = new Agent({ keepAlive: true, maxSockets: 4 });
    t.after(() => agent.destroy());
    const get = (path: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const headers = { host: `wiki.localhost:${port}` };
        const tls = { servername: 'wiki.localhost', rejectUnauthorized: false };
        request({ host, port, path, headers, agent, ...tls }, (response) => response.resume().on('end', resolve))
          .on('error', reject)
          .end();
      });
    await get('/x?secret=1');
    const [line] = await until(/^\d\d:\d\d:\d\d GET wiki\.localhost\/x \d{3} \d+ ms[^\n]*$/m);
    assert.doesNotMatch(line, /secret|request_id|\{/);
    await Promise.all(Array.from({ length: 300 }, () => get('/flood')));
    await until(/^… and \d+ more\r?$/m);
    await get('/after');
    const shown = output.split('\n').filter((each) => each.includes('wiki.localhost')).length;
    assert.ok(shown < 300, `${shown} lines`);
    assert.doesNotMatch(output, / API \//, 'requests to the API hide those of visitors');
  });
}
