import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { type Issued, issue } from './test-authority.ts';

const HOST = 'files.apps.test';
const outside = await tempDir({ after });
const allowed = join(outside, 'allowed');
await mkdir(allowed);
const world = await EdgeWorld.open({ after }, { POSTERN_CERTIFICATE_FILE_DIRS: allowed });
await world.site(await world.httpResponse('hello'), HOST);

const certificateFile = join(allowed, 'fullchain.pem');
const keyFile = join(allowed, 'privkey.pem');

function pair(commonName: string): Promise<Issued> {
  return issue({ commonName, dnsNames: [HOST], usages: ['server'] });
}

/** As certbot does: a new file, then one rename each. */
async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

async function writePair({ certificatePem, keyPem }: Issued): Promise<void> {
  await replace(certificateFile, certificatePem);
  await replace(keyFile, keyPem);
}

const create = (body: object) => world.world.api('POST', '/tls_certificates', body);
const FILES = { certificate_file: certificateFile, private_key_file: keyFile };

async function shown(): Promise<string> {
  const socket = await world.connect(HOST, { rejectUnauthorized: false });
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const end = Date.now() + 20_000;
  while (!(await isSo())) {
    assert.ok(Date.now() < end, `not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const untilShown = (name: string) => until(async () => (await shown()) === name, name);
const untilLogged = (pattern: RegExp) =>
  until(() => Promise.resolve(world.world.logLines.some((line) => pattern.test(line))), String(pattern));

suite('a certificate in files', () => {
  test('is presented, follows its files under the same id, and keeps open connections', async () => {
    await writePair(await pair('first'));
    const { status, body } = await create(FILES);
    assert.equal(status, 201);
    assert.equal(body.subject_common_name, 'first');
    assert.equal(body.certificate_file, certificateFile);
    assert.equal(await shown(), 'first');
    const agent = world.agent({ rejectUnauthorized: false });
    const options = { agent, rejectUnauthorized: false };
    assert.equal((await world.ask(HOST, '/', options)).text, 'hello');
    const second = await pair('second');
    await writePair(second);
    await untilShown('second');
    assert.equal((await world.ask(HOST, '/', options)).text, 'hello', 'on the connection from before');
    agent.destroy();
    const read = await world.api('GET', body.uri);
    assert.equal(read.subject_common_name, 'second');
    assert.equal(read.certificate_pem, second.certificatePem, 'stored for other nodes');

    // A half-written renewal: the certificate without its key, then nothing at all.
    const third = await pair('third');
    await replace(certificateFile, third.certificatePem);
    await untilLogged(/does not match/);
    assert.equal(await shown(), 'second');
    await replace(keyFile, third.keyPem);
    await untilShown('third');
    await rm(certificateFile);
    await untilLogged(/ENOENT/);
    assert.equal(await shown(), 'third');
    assert.ok(!world.world.logLines.some((line) => line.includes('PRIVATE KEY')));
    await world.api('DELETE', body.uri);
  });

  test('follows symbolic links that stay inside, such as certbot’s', async () => {
    const [one, two] = [await pair('link one'), await pair('link two')];
    const live = join(allowed, 'live');
    await mkdir(live);
    for (const [name, issued] of [
      ['1', one],
      ['2', two],
    ] as const) {
      await writeFile(join(allowed, `cert${name}.pem`), issued.certificatePem);
      await writeFile(join(allowed, `key${name}.pem`), issued.keyPem);
    }
    await symlink('../cert1.pem', join(live, 'cert.pem'));
    await symlink('../key1.pem', join(live, 'key.pem'));
    const { status, body, text } = await create({
      certificate_file: join(live, 'cert.pem'),
      private_key_file: join(live, 'key.pem'),
    });
    assert.equal(status, 201, text);
    assert.equal(await shown(), 'link one');
    for (const name of ['cert', 'key']) {
      await symlink(`../${name}2.pem`, join(live, 'new'));
      await rename(join(live, 'new'), join(live, `${name}.pem`));
    }
    await untilShown('link two');
    await world.api('DELETE', body.uri);
  });

  test('is rejected with the same words when it is outside and when it does not exist', async () => {
    const hidden = join(outside, 'hidden');
    await mkdir(hidden, { recursive: true });
    await writeFile(join(hidden, 'there.pem'), 'x');
    await writeFile(join(hidden, 'closed.pem'), 'x', { mode: 0o000 });
    await symlink(join(hidden, 'there.pem'), join(allowed, 'to-file.pem'));
    await symlink(join(hidden, 'absent.pem'), join(allowed, 'to-nothing.pem'));
    await symlink(hidden, join(allowed, 'to-folder'));
    await symlink('loop.pem', join(allowed, 'loop.pem'));
    const paths = [
      ...['there.pem', 'closed.pem', 'absent.pem', 'there.pem/x', 'absent/x', '.'].map((name) => join(hidden, name)),
      ...['to-file.pem', 'to-nothing.pem', 'to-folder/there.pem', 'to-folder/absent.pem', 'to-folder', 'loop.pem'].map(
        (name) => join(allowed, name),
      ),
      ...['/proc/1/environ', '/nowhere/at/all', `${allowed}-not/x.pem`, outside, '/'],
    ];
    const said = new Set<string>();
    for (const path of paths) {
      const sent = { ...FILES, certificate_file: path };
      const { status, body } = await world.world.api('POST', '/tls_certificates', sent);
      said.add(`${status} ${body.msg}`);
    }
    assert.equal(said.size, 1, [...said].join('\n'));
    assert.match([...said][0] ?? '', /^400 .*not a file below the directories/);
  });

  test('is rejected with the reason when a file cannot be used', async () => {
    const good = await pair('good');
    const other = await pair('other');
    await writePair(good);
    const secretFile = join(outside, 'secret.pem');
    await writeFile(secretFile, good.certificatePem);
    await symlink(secretFile, join(allowed, 'link-out.pem'));
    await writeFile(join(allowed, 'huge.pem'), 'x'.repeat(300_000));
    await writeFile(join(allowed, 'other.key'), other.keyPem);
    execFileSync('mkfifo', [join(allowed, 'pipe.pem')]);
    for (const [body, field, says] of [
      [{ ...FILES, certificate_file: secretFile }, 'certificate_file', /not a file below the directories/],
      [
        { ...FILES, certificate_file: join(allowed, 'link-out.pem') },
        'certificate_file',
        /not a file below the directories/,
      ],
      [
        { ...FILES, certificate_file: join(allowed, '../secret.pem') },
        'certificate_file',
        /not a file below the directories/,
      ],
      [{ ...FILES, certificate_file: 'fullchain.pem' }, 'certificate_file', /absolute path/],
      [{ ...FILES, certificate_file: join(allowed, 'absent.pem') }, 'certificate_file', /ENOENT/],
      [{ ...FILES, certificate_file: allowed }, 'certificate_file', /not a file below|regular file/],
      [{ ...FILES, certificate_file: join(allowed, 'huge.pem') }, 'certificate_file', /larger than/],
      [{ ...FILES, certificate_file: join(allowed, 'pipe.pem') }, 'certificate_file', /regular file/],
      [{ ...FILES, private_key_file: join(allowed, 'other.key') }, 'private_key_file', /does not match/],
      [{ ...FILES, certificate_file: keyFile }, 'certificate_file', /certificate/],
      [{ certificate_file: certificateFile }, 'private_key_file', /name both files/],
      [{ private_key_file: keyFile }, 'certificate_file', /name both files/],
      [{}, 'certificate_pem', /is required, or certificate_file/],
      [{ certificate_pem: good.certificatePem }, 'private_key_pem', /is required, or/],
      [{ ...FILES, certificate_pem: good.certificatePem }, 'certificate_pem', /either the text or the files/],
      [{ ...FILES, private_key_pem: good.keyPem }, 'private_key_pem', /either the text or the files/],
      [
        { ...FILES, certificate_pem: other.certificatePem, private_key_pem: other.keyPem },
        'certificate_pem',
        /either the text or the files/,
      ],
    ] as const) {
      const { status, text } = await create(body);
      assert.equal(status, 400, `${JSON.stringify(body)} ${text}`);
      assert.match(text, says);
      assert.ok(text.includes(field), text);
      assert.ok(!text.includes('BEGIN PRIVATE'), 'no content of a file');
    }
  });

  test('replaces text when a PATCH names the files alone, and is rejected with text', async () => {
    const [text, files, other] = [await pair('text'), await pair('files'), await pair('other text')];
    await writePair(files);
    const sent = (issued: Issued) => ({ certificate_pem: issued.certificatePem, private_key_pem: issued.keyPem });
    const { uri } = await world.api('POST', '/tls_certificates', sent(text));
    const rejected = await world.world.api('PATCH', uri, { ...FILES, ...sent(other) });
    assert.equal(rejected.status, 400);
    assert.match(rejected.text, /either the text or the files/);
    assert.equal((await world.api('GET', uri)).subject_common_name, 'text');
    assert.equal((await world.api('PATCH', uri, FILES)).subject_common_name, 'files');
    await world.api('DELETE', uri);
  });

  test('is rejected while no directory is allowed', async (t) => {
    const other = await EdgeWorld.open(t);
    const { status, text } = await other.world.api('POST', '/tls_certificates', FILES);
    assert.equal(status, 400);
    assert.match(text, /POSTERN_CERTIFICATE_FILE_DIRS/);
  });
});
