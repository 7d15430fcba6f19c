import assert from 'node:assert/strict';
import { mkdir, readFile, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { projectRoot } from '../docs/markdown.ts';
import { Terminal } from '../docs/terminal.ts';
import { tempDir } from '../support/temp-dir.ts';

// Own process: takes long, since it starts the program as a newcomer does.

/** A person has a pseudo-terminal, and no API key in the environment. A pipe would hide what only a terminal shows. */
test('npm start on a terminal, and one command in another one, publish a port', async (t) => {
  const checkout = await tempDir(t);
  await mkdir(join(checkout, 'bin'));
  // What the program reads: everything that it writes lands in the test's own folder.
  for (const name of [
    'src',
    'tools',
    'console',
    'package.json',
    'package-lock.json',
    'node_modules',
    'bin/postern.mjs',
  ])
    await symlink(join(projectRoot, name), join(checkout, name));
  const env = { PATH: process.env['PATH'] ?? '', HOME: checkout, TERM: 'xterm', LC_ALL: 'C.UTF-8' };
  const ports = ['api', 'edge', 'edge-http', 'tunnel'].map((name) => `--${name}-listen 127.0.0.1:0`).join(' ');
  const server = new Terminal({ cwd: checkout, env });
  t.after(() => server.close());
  const shown = await server.start(
    `script --quiet --return --command 'npm start -- ${ports}' /dev/null < /dev/null`,
    /postern\.mjs http 3000/,
  );
  assert.match(shown, /Postern \d+\.\d+\.\d+ is ready\./);
  assert.match(shown, /first administrator with this link[^\n]*\n\s+https:\/\/id\.localhost:7443\//);
  assert.doesNotMatch(shown, /postern_(ak|cr)_|YOUR-|EBADENGINE/);
  const key = await readFile(join(checkout, 'postern-data', 'first-api-key'), 'utf8');
  assert.match(key, /^postern_ak_/);

  const service = createServer((_request, response) => response.end('hello from the port\n'));
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  t.after(() => service.close());
  const { port } = service.address() as AddressInfo;
  // The lines that the server told the person to type, with the port of the test's service.
  const [, exported = '', edge = ''] =
    /^ {2}(export \S+)\r?\n {2}(\S+ \S+postern\.mjs edge \S+ --to) 3000/m.exec(shown) ?? [];
  const other = new Terminal({ cwd: checkout, env });
  t.after(() => other.close());
  assert.match(await other.run(`${exported}\n${edge} ${port}`), /app\.localhost:\d+/);
  const [, edgePort] = /app\.localhost:(\d+)/.exec(edge) ?? [];
  await other.run('node bin/postern.mjs ca print > ca.pem');
  const curl = `curl -sS --cacert ca.pem --connect-to ::127.0.0.1:${edgePort} https://app.localhost:${edgePort}/`;
  assert.match(await other.run(curl), /^hello from the port$/m);
});
