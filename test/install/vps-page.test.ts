// Long form: installs and runs a second tutorial. Short form: test/docs/tutorials.test.ts
// Own process: takes long, so it starts first.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { suite, test } from 'node:test';
import { readEnvironment } from '../../src/cli/service/systemd-words.ts';
import { shellBlocks } from '../docs/markdown.ts';
import { Terminal } from '../docs/terminal.ts';
import { builtBinary } from '../support/built-binary.ts';
import { startPostern } from '../support/server-process.ts';
import { nonRootUser } from './non-root.ts';
import { execStart } from './systemd.ts';

const TIMEOUT_MS = 280_000;
const PAGE = 'docs/how-to/run-on-a-vps.md';

/** The machine's own folders stay as they are: programs go to the reader's home, the service into an image. */
const SUDO = `sudo() {
  case "$1" in
    install) cp "$BUILT" postern-linux-x64; local words=("\${@//\\/usr\\/local\\/bin/$HOME/bin}"); "\${words[@]}" ;;
    postern) "$@" --root image ;;
  esac
}`;

suite('the page about a VPS', { timeout: TIMEOUT_MS }, () => {
  test('leads from nothing to a page and a tunnel, as a user without privileges', async (t) => {
    const blocks = shellBlocks(PAGE).map(({ text }) => text);
    assert.equal(blocks.length, 6);
    const [install = '', serve = '', publish = '', look = '', credential = '', tunnel = ''] = blocks;
    const { home, env, identity } = await nonRootUser(t);
    await mkdir(join(home, 'bin'));
    const dataDir = join(home, 'var');
    const shellEnv = { ...env, PATH: `${home}/bin:${env['PATH']}`, BUILT: await builtBinary() };
    const open = (more: Record<string, string> = {}): Terminal => {
      const terminal = new Terminal({ cwd: home, env: { ...shellEnv, ...more } });
      t.after(() => terminal.close());
      return terminal;
    };
    const typed = (text: string): string =>
      text.replaceAll('/var/lib/postern', dataDir).replaceAll('/etc/postern', `${home}/image/etc/postern`);

    const admin = open();
    await admin.run(`${SUDO}\n${install}`);
    await admin.run(serve);
    const unit = readFileSync(join(home, 'image/etc/systemd/system/postern.service'), 'utf8');
    const settings = Object.fromEntries(
      readEnvironment(readFileSync(join(home, 'image/etc/postern/postern.env'), 'utf8')),
    );
    // Free ports instead of those of the page, as behind a load balancer.
    const listeners = Object.keys(settings).filter((name) => name.endsWith('_LISTEN'));
    assert.equal(listeners.length, 3);
    const started = startPostern(t, {
      command: execStart(unit),
      cwd: home,
      env: {
        ...env,
        ...settings,
        ...Object.fromEntries([...listeners, 'POSTERN_API_LISTEN'].map((name) => [name, '127.0.0.1:0'])),
        POSTERN_EDGE_HOST_PORTS: '443',
        POSTERN_DATA_DIR: dataDir,
      },
      ...identity,
    });
    const { base_url: url, addresses } = await started.ready();
    const { edge = '', tunnel: gateway = '' } = addresses as unknown as Record<string, string>;
    await writeFile(join(home, '.curlrc'), `connect-to = ":443:${edge}"\nsilent\nshow-error\n`);

    await admin.run(`export POSTERN_CLI_API_URL=${url}`);
    await admin.run(typed(publish));
    assert.match(await admin.run(typed(look)), /Hello from my server/);
    const token = (await admin.run(credential)).trim();

    const service = createServer((_request, response) => response.end('from my machine'));
    t.after(() => service.close());
    await once(service.listen(0, '127.0.0.1'), 'listening');
    const { port } = service.address() as AddressInfo;
    // A folder of its own: the copied file and the token are all that the machine has.
    await mkdir(join(home, 'laptop'));
    await admin.run('cp postern-cas.pem laptop');
    const laptop = open({ TOKEN: token });
    const command = tunnel.replace('3000', String(port)).replace('example.com:7444', gateway);
    const printed = await laptop.start(`cd laptop\n${command}`, /https:\/\/[a-z0-9-]+\.example\.com/);
    const [address = ''] = /https:\/\/[a-z0-9-]+\.example\.com/.exec(printed) ?? [];
    assert.match(await admin.run(`curl --cacert postern-cas.pem ${address}/`), /from my machine/);
    assert.equal(dirname(dataDir), home);
  });
});
