import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { tempDir } from '../support/temp-dir.ts';
import { service } from './service-world.ts';

const UNIT = 'etc/systemd/system/postern.service';
const SETTINGS = 'etc/postern/postern.env';

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

suite('postern service install', () => {
  test('writes unit and settings into an image, the settings for root alone', async (t) => {
    const root = await tempDir(t);
    const secret = 'a"quoted"$PATH`id`\\key-of-32-characters-and-more';
    const flags = ['--domain', 'example.com', '--edge-listen', '0.0.0.0:443', '--api-key', secret];
    const { code, out, systemctl } = await service(['install', '--root', root, ...flags]);
    assert.equal(code, 0);
    assert.deepEqual(systemctl, [], 'an image is not this machine');
    assert.match(out, /systemctl enable --now postern/);
    assert.doesNotMatch(out, /quoted/, 'a secret on the terminal');
    assert.equal(modeOf(join(root, UNIT)), '644');
    assert.equal(modeOf(join(root, SETTINGS)), '600');
    assert.equal(
      readFileSync(join(root, SETTINGS), 'utf8'),
      'POSTERN_DOMAIN="example.com"\nPOSTERN_EDGE_LISTEN="0.0.0.0:443"\nPOSTERN_API_KEY="a\\"quoted\\"\\$PATH\\`id\\`\\\\key-of-32-characters-and-more"\n',
    );
    assert.doesNotMatch(readFileSync(join(root, UNIT), 'utf8'), /quoted|example\.com/);
  });

  test('keeps settings and comments that are there, and changes those that are given', async (t) => {
    const root = await tempDir(t);
    await mkdir(join(root, 'etc/postern'), { recursive: true });
    writeFileSync(join(root, SETTINGS), '# ours\nPOSTERN_DOMAIN=old.example.com\nPOSTERN_REGION="eu"', { mode: 0o644 });
    await service(['install', '--root', root, '--domain', 'new.example.com', '--log-level', 'warn']);
    assert.equal(
      readFileSync(join(root, SETTINGS), 'utf8'),
      '# ours\nPOSTERN_DOMAIN="new.example.com"\nPOSTERN_REGION="eu"\nPOSTERN_LOG_LEVEL="warn"\n',
    );
    assert.equal(modeOf(join(root, SETTINGS)), '600');
  });

  test('writes nothing when a setting cannot work', async (t) => {
    const root = await tempDir(t);
    await assert.rejects(service(['install', '--root', root, '--log-level', 'loud']), /log_level.*"loud"/);
    await assert.rejects(
      service(['install', '--root', root, '--api-listen', '0.0.0.0:80']),
      /api_listen is 0\.0\.0\.0:80/,
    );
    assert(!existsSync(join(root, 'etc')));
  });

  test('starts the service and enables it; a running one is not restarted behind its owner’s back', async (t) => {
    const env = { XDG_CONFIG_HOME: await tempDir(t) };
    const first = await service(['install', '--user'], { env });
    assert.deepEqual(first.systemctl, [
      '--user is-active --quiet postern',
      '--user daemon-reload',
      '--user enable postern',
      '--user start postern',
    ]);
    const calls: string[] = [];
    const systemctl = (args: readonly string[]) => {
      calls.push(args.join(' '));
      return { isDone: true, output: '' };
    };
    const again = await service(['install', '--user'], { env, ports: { systemctl } });
    assert(!calls.some((call) => /start/.test(call)));
    assert.match(again.out, /still runs with its old settings: systemctl --user restart postern/);
    const gone = await service(['uninstall', '--user'], { env });
    assert.deepEqual(gone.systemctl, ['--user disable --now postern', '--user daemon-reload']);
    assert(!existsSync(join(env.XDG_CONFIG_HOME, 'systemd/user/postern.service')));
    assert(existsSync(join(env.XDG_CONFIG_HOME, 'postern/postern.env')), 'settings were deleted');
    await assert.rejects(service(['uninstall', '--user'], { env }), /postern is not installed/);
  });

  test('reports what systemctl said', async (t) => {
    const env = { XDG_CONFIG_HOME: await tempDir(t) };
    const systemctl = (args: readonly string[]) => ({
      isDone: args.includes('daemon-reload'),
      output: 'Access denied',
    });
    const wrong = service(['install', '--user'], { env, ports: { systemctl } });
    await assert.rejects(
      wrong,
      /systemctl --user enable postern failed: Access denied\. See: journalctl --user-unit postern/,
    );
  });

  test('prints what to run with privileges when it has none', async () => {
    const ports = { isRoot: () => false, ownCommand: () => ['/opt/node 26/bin/node', "/opt/it's/postern.mjs"] };
    for (const subcommand of ['install', 'uninstall']) {
      const { code, out, err } = await service([subcommand, 'server', '--name', 'front'], { ports });
      assert.equal(code, 1);
      assert.equal(
        out,
        `sudo '/opt/node 26/bin/node' '/opt/it'\\''s/postern.mjs' service ${subcommand} server --name front`,
      );
      assert.match(err, /requires root.*--user/);
    }
  });

  test('names what keeps a service from running', async (t) => {
    const root = await tempDir(t);
    const install = (ports: object, ...args: string[]) => service(['install', ...args], { ports });
    await assert.rejects(install({ hasSystemd: () => false }), /no \/run\/systemd\/system.*postern service print/);
    await assert.rejects(
      install({ ownCommand: () => ['/root/.nvm/node', '/root/postern.mjs'] }),
      /cannot read \/root\/\.nvm\/node: install the program for all users first, for example as \/usr\/local\/bin\/postern/,
    );
    await assert.rejects(install({ closedTo: () => '/srv/private' }), /cannot read \/srv\/private/);
    await assert.rejects(install({}, 'agent', '--root', root), /no .*etc\/postern\/agent\.yaml: describe the tunnels/);
    await assert.rejects(install({}, 'agent', '--root', root, '--domain', 'x.example'), /no .*agent\.yaml/);
  });

  test('installs an agent whose token only root can read', async (t) => {
    const root = await tempDir(t);
    await mkdir(join(root, 'etc/postern'), { recursive: true });
    writeFileSync(join(root, 'etc/postern/agent.yaml'), 'authtoken: secret\n', { mode: 0o600 });
    await service(['install', 'agent', '--root', root]);
    const unit = readFileSync(join(root, 'etc/systemd/system/postern-agent.service'), 'utf8');
    assert.match(unit, /^LoadCredential=agent\.yaml:\/etc\/postern\/agent\.yaml$/m);
    assert.doesNotMatch(unit, /secret/);
    await assert.rejects(service(['install', 'agent', '--root', root, '--domain', 'x.example']), /takes no --domain/);
  });
});
