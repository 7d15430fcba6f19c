import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { type Issued, issue } from './test-authority.ts';

const HOST = 'renewed.apps.test';
const world = await EdgeWorld.open({ after });
await world.site(await world.httpResponse('hello'), HOST);

function pair(commonName: string): Promise<Issued> {
  return issue({ commonName, dnsNames: [HOST], usages: ['server'] });
}

async function upload(issued: Issued): Promise<{ id: string; uri: string; serial_number: string }> {
  return world.api('POST', '/tls_certificates', {
    certificate_pem: issued.certificatePem,
    private_key_pem: issued.keyPem,
  });
}

async function shown(): Promise<string> {
  const socket = await world.connect(HOST, { rejectUnauthorized: false });
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

suite('PATCH of an uploaded certificate', () => {
  test('presents the new pair at once, under the same id, and keeps open connections', async () => {
    const before = await upload(await pair('first'));
    const agent = world.agent({ rejectUnauthorized: false });
    const options = { agent, rejectUnauthorized: false };
    assert.equal((await world.ask(HOST, '/', options)).text, 'hello');
    assert.equal(await shown(), 'first');
    const next = await pair('second');
    const changed = await world.api('PATCH', before.uri, {
      certificate_pem: next.certificatePem,
      private_key_pem: next.keyPem,
    });
    assert.equal(changed.id, before.id);
    assert.equal(changed.subject_common_name, 'second');
    assert.notEqual(changed.serial_number, before.serial_number);
    assert.equal(await shown(), 'second');
    assert.equal((await world.ask(HOST, '/', options)).text, 'hello', 'on the connection from before');
    agent.destroy();
    await world.api('DELETE', before.uri);
  });

  test('rejects a pair that does not match, and half of a pair, and says what to send', async () => {
    const { uri } = await upload(await pair('kept'));
    const [one, other] = [await pair('one'), await pair('other')];
    for (const [body, field, says] of [
      [{ certificate_pem: one.certificatePem }, '/private_key_pem', /does not match .*in the same request/],
      [{ private_key_pem: one.keyPem }, '/private_key_pem', /does not match .*in the same request/],
      [{ certificate_pem: one.certificatePem, private_key_pem: other.keyPem }, '/private_key_pem', /does not match/],
      [{ certificate_pem: 'x', private_key_pem: one.keyPem }, '/certificate_pem', /certificate/],
      [{ certificate_pem: one.certificatePem, private_key_pem: 'x' }, '/private_key_pem', /not a PEM private key/],
    ] as const) {
      const answer = await world.world.api('PATCH', uri, body);
      assert.equal(answer.status, 400, answer.text);
      assert.match(answer.text, says);
      assert.ok(answer.text.includes(field.slice(1)));
      assert.ok(!answer.text.includes('BEGIN PRIVATE KEY-----\\n'), 'no key in the message');
    }
    assert.equal(await shown(), 'kept');
    await world.api('DELETE', uri);
  });

  test('keeps certificate and key when only the description changes', async () => {
    const { uri, ...rest } = await upload(await pair('described'));
    const { body } = await world.world.api('PATCH', uri, { description: 'new' });
    assert.equal(body.serial_number, rest.serial_number);
    assert.equal(await shown(), 'described');
    await world.api('DELETE', uri);
  });
});
