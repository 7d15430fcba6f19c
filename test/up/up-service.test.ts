// Own process: starts a server, which takes long.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { shellBlocks } from '../docs/markdown.ts';
import { UpWorld } from './up-world.ts';

const HOST = 'app.example.com';
const CONSOLE = 'console.example.com';
/** The command of the page, without sudo. */
const withConsole = (shellBlocks('docs/how-to/publish-a-site.md')[4]?.text ?? '').trim().split(' ').slice(3);

suite('postern up with root and systemd', () => {
  test('installs a service that reads the settings file, publishes, and leaves both alone the next time', async (t) => {
    const world = await UpWorld.open(t);
    const root = join(world.folder, 'root');
    const ports = world.service(root);
    const environment = join(root, 'etc/postern/postern.env');
    mkdirSync(join(root, 'etc/postern'), { recursive: true });
    writeFileSync(environment, `# by hand\nPOSTERN_DATA_DIR="${world.dataDir}"\n`);
    const listeners = world.place.filter((_, index) => index > 1);
    const first = await world.up([...withConsole, '--to', String(world.target), '--acme', 'off', ...listeners], {
      ports,
    });
    assert.equal(first.code, 0, first.err);
    assert.match(first.out, /^new file \/etc\/postern\/server\.yaml\n {2}\+ /m);
    assert.match(first.out, /^postern runs, and starts at every boot\.$/m);
    assert.match(first.err, /app\.example\.com has no address in DNS/);
    assert.equal(
      readFileSync(environment, 'utf8'),
      `# by hand\nPOSTERN_DATA_DIR="${world.dataDir}"\nPOSTERN_CONFIG="/etc/postern/server.yaml"\n`,
    );
    const settings = join(root, 'etc/postern/server.yaml');
    // The user of the service is made at each start.
    assert.equal(statSync(settings).mode & 0o777, 0o644);
    assert.match(readFileSync(join(root, 'etc/systemd/system/postern.service'), 'utf8'), /^DynamicUser=yes$/m);
    assert.equal((await world.visit(HOST)).text, 'hello');

    // The console is never open: not for visitors, and not for somebody who has an API key.
    assert.match(first.err, /console\.example\.com has no address in DNS/);
    assert.match(first.out, /\+ login at https:\/\/id\.app\.example\.com:\d+\n\+ access for group postern-admins\n/);
    assert.match(first.out, /^Console: +https:\/\/console\.example\.com:\d+\/console$/m);
    const key = readFileSync(join(world.dataDir, 'first-api-key'), 'utf8').trim();
    const asked = [
      ['/console', {}],
      ['/edges/https', { authorization: `Bearer ${key}` }],
      ['/healthz', {}],
    ] as const;
    for (const [path, headers] of asked) {
      const { status, location, text } = await world.visit(CONSOLE, { accept: 'text/html', ...headers }, path);
      assert.notEqual(status, 200, `${path}: ${text}`);
      if (status === 302) assert.match(location ?? '', /^\/\.postern\/login\?/, path);
    }
    const opened = await world.up([CONSOLE, '--no-login'], { ports, answer: 'y' });
    assert.equal(opened.code, 1);
    assert.match(opened.err, /serves the console and the API, which are never open/);

    const calls = world.systemctl.length;
    const text = readFileSync(settings, 'utf8');
    const again = await world.up([HOST, '--to', String(world.target)], { ports });
    assert.equal(again.code, 0, again.err);
    assert.match(again.out, /^nothing to change$/m);
    assert.equal(world.systemctl.length, calls, 'a running service is left alone');
    assert.equal(readFileSync(settings, 'utf8'), text);
    const { host: address, port } = new URL(`http://${world.api}`);
    assert.match(again.out, new RegExp(`ssh -N -L ${port}:${address} ana@app\\.example\\.com`));
    assert.doesNotMatch(again.out, /link=/, 'a script gets no link');

    const person = await world.up([HOST], { ports, isTerminal: true });
    const [link = ''] = /http:\/\/\S+\/console\/enter\?link=\S+/.exec(person.out) ?? [];
    const entered = await fetch(link, { redirect: 'manual' });
    assert.match(entered.headers.get('location') ?? '', /^\/console\/#token=/);
    assert.equal((await fetch(link, { redirect: 'manual' })).status, 403, 'a link works once');
  });

  test('refuses a program that the service cannot read, before it writes anything', async (t) => {
    const world = await UpWorld.open(t);
    const root = join(world.folder, 'root');
    const { service } = world.service(root);
    if (service === undefined) return;
    const ports = { service: { ...service, closedTo: () => '/root' } };
    const listeners = world.place.filter((_, index) => index > 1);
    const { code, err } = await world.up([HOST, '--to', '3000', '--yes', ...listeners], { ports });
    assert.equal(code, 1);
    assert.match(err, /the service cannot read \/root: install the program for all users first/);
    assert.throws(() => statSync(join(root, 'etc')));
  });
});
