import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { projectRoot } from '../../docs/markdown.ts';
import { installerWorld } from './installer-world.ts';
import { MACHINES, missingFor, SCRIPT } from './run-installer.ts';

for (const machine of MACHINES) {
  suite(`install.sh on ${machine.name}`, { skip: missingFor(machine) }, () => {
    test('installs the executable after it has checked signature and hash', async (t) => {
      const { install, files, target, release } = await installerWorld(t, { machine });
      const { code, out, err } = await install();
      assert.deepEqual([code, err], [0, '']);
      assert.match(out, /^The signature is correct\.\n.*\ninstalled postern 1\.2\.3: .*\/target\/postern$/m);
      assert.deepEqual(files(), ['postern']);
      assert.deepEqual(readFileSync(join(target, 'postern')), readFileSync(release.executable));
      assert.equal(statSync(join(target, 'postern')).mode & 0o777, 0o755);
      assert.match((await install()).out, /postern 1\.2\.3 is installed already/);
    });

    test('upgrades after the new program has looked at the store', async (t) => {
      const { install, files, target, put } = await installerWorld(t, { machine });
      put('1.2.2');
      const { code, out } = await install();
      assert.equal(code, 0);
      assert.match(
        out,
        /upgrading postern 1\.2\.2 to 1\.2\.3\nchecked by 1\.2\.3: upgrade-check\ninstalled postern 1\.2\.3/,
      );
      assert.match(out, /systemctl restart postern/);
      assert.deepEqual(files(), ['postern']);
      assert.match(readFileSync(join(target, 'postern'), 'utf8'), /echo 1\.2\.3/);
    });
  });
}

suite('the manual pages', () => {
  for (const machine of MACHINES) {
    test(`come and go with the program on ${machine.name}`, { skip: missingFor(machine) }, async (t) => {
      const { install, scratch } = await installerWorld(t, { machine });
      const bin = join(scratch, 'usr', 'bin');
      const man = join(scratch, 'usr', 'share', 'man', 'man1');
      const at = { POSTERN_INSTALL_DIR: bin };
      mkdirSync(man, { recursive: true });
      const [mark = ''] = readFileSync(join(projectRoot, 'man', 'postern.1'), 'utf8').split('\n');
      writeFileSync(join(man, 'postern-gone.1'), `${mark}\n`);
      writeFileSync(join(man, 'postern-foreign.1'), 'of another program\n');
      // A link must not lead the installer to write elsewhere.
      const victim = join(scratch, 'victim');
      mkdirSync(victim);
      symlinkSync(victim, join(man, 'postern-edge.1'));
      const { code, out, err } = await install({ env: at });
      assert.deepEqual([code, err], [0, '']);
      assert.match(out, /installed its manual pages: man postern$/m);
      const expected = readdirSync(join(projectRoot, 'man'));
      assert.deepEqual(readdirSync(man).sort(), [...expected, 'postern-foreign.1'].sort());
      assert.deepEqual(readdirSync(victim), []);
      assert.equal(statSync(join(man, 'postern-edge.1')).mode & 0o777, 0o644);
      assert.deepEqual(readdirSync(bin), ['postern']);
      const removed = await install({ env: { ...at, POSTERN_REMOVE: '1' } });
      assert.deepEqual([removed.code, removed.err], [0, '']);
      assert.match(removed.out, /Settings .* and data .* stay/);
      assert.deepEqual([readdirSync(man), readdirSync(bin)], [['postern-foreign.1'], []]);
      assert.match((await install({ env: { ...at, POSTERN_REMOVE: '1' } })).err, /there is no .*postern/);
      // Through a pipe: "curl ... | sudo sh -s -- --remove".
      assert.match((await install({ env: at, arguments: ['--removes'] })).err, /unknown argument: --removes/);
      await install({ env: at });
      const again = await install({ env: at, arguments: ['--remove'] });
      assert.deepEqual([again.code, again.err], [0, '']);
      assert.deepEqual([readdirSync(man), readdirSync(bin)], [['postern-foreign.1'], []]);
    });
  }

  test('stay when sudo dropped the variable that says to remove the program', async (t) => {
    const { install, files } = await installerWorld(t);
    assert.equal((await install()).code, 0);
    const before = files();
    const lost = await install({ env: { POSTERN_REMOVE: '1' }, first: 'env -u POSTERN_REMOVE sh; exit $?' });
    assert.equal(lost.code, 1);
    assert.match(lost.err, /does not reach this script through sudo.*sudo sh -s -- --remove/);
    assert.deepEqual(files(), before);
  });

  test('are left out where nobody can write them, and nothing is installed if they were replaced', async (t) => {
    const { install, scratch, release } = await installerWorld(t);
    const at = { POSTERN_INSTALL_DIR: join(scratch, 'usr', 'bin') };
    const without = await install({ env: at, programs: { tar: null } });
    assert.equal(without.code, 0);
    assert.match(without.out, /manual pages are left out: tar is missing/);
    writeFileSync(join(release.folder, 'postern-man.tar'), 'something else');
    const other = { POSTERN_INSTALL_DIR: join(scratch, 'other', 'bin') };
    const { code, err } = await install({ env: other });
    assert.equal(code, 1);
    assert.match(err, /postern-man\.tar is damaged or was replaced.*Nothing was installed/);
    assert.deepEqual(readdirSync(join(scratch, 'other', 'bin')), []);
  });
});

suite('install.sh', () => {
  test('leaves the installed version if the new one cannot start on the store', async (t) => {
    const { install, files, target, put } = await installerWorld(t, { verdict: 1 });
    const old = put('1.2.2');
    const { code, err } = await install();
    assert.equal(code, 1);
    assert.match(err, /postern 1\.2\.3 cannot start on the store/);
    assert.deepEqual([files(), readFileSync(join(target, 'postern'), 'utf8')], [['postern'], old]);
  });

  test('installs an older version only with POSTERN_ALLOW_DOWNGRADE', async (t) => {
    const { install, put } = await installerWorld(t);
    for (const newer of ['1.2.4', '1.10.0', '2.0.0']) {
      put(newer);
      assert.match((await install()).err, new RegExp(`older than the installed ${newer.replaceAll('.', '\\.')}`));
    }
    assert.equal((await install({ env: { POSTERN_ALLOW_DOWNGRADE: '1' } })).code, 0);
    put('1.2.3-rc.1');
    assert.equal((await install()).code, 0);
  });

  test('replaces a program that does not start', async (t) => {
    const { install, target } = await installerWorld(t);
    execFileSync('sh', ['-c', 'printf "#!/bin/sh\\nexit 1\\n" > postern; chmod 755 postern'], { cwd: target });
    const { code, out } = await install();
    assert.equal(code, 0);
    assert.match(out, /upgrading postern \(which does not start\) to 1\.2\.3/);
  });

  test('does nothing if only part of it arrives', async (t) => {
    const { install, files, server } = await installerWorld(t);
    const lines = SCRIPT.split('\n');
    for (let count = 1; count < lines.length - 2; count += 20)
      await install({ script: `${lines.slice(0, count).join('\n')}\n` });
    // The last word is what starts it.
    await install({ script: SCRIPT.slice(0, SCRIPT.lastIndexOf('main') + 3) });
    assert.deepEqual([server.requests, files()], [[], []]);
  });

  test('has plain characters only: yash reads no others without a locale', () => {
    assert.doesNotMatch(SCRIPT, /[^\n\x20-\x7e]/);
  });

  test('has no finding of shellcheck', (t) => {
    const { error, status, stdout } = spawnSync('shellcheck', ['--shell=sh', 'install.sh'], { cwd: projectRoot });
    if (error !== undefined) {
      console.error('INSTALL.SH WAS NOT CHECKED: install shellcheck');
      t.skip('shellcheck is not installed');
      return;
    }
    assert.equal(status, 0, stdout.toString());
  });
});
