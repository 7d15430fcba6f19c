import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Invitation, invitationLine, readInvitationLine } from './invitation-line.ts';

const SECRET = Buffer.alloc(16, 7).toString('base64url');
const PINNED: Invitation = { gateway: 'gateway.example.com:7444', caSha256: 'ab'.repeat(32), secret: SECRET };

/** A line with any content, and a correct end. */
function forged(gateway: string): string {
  return invitationLine({ ...PINNED, gateway });
}

suite('the line of an invitation', () => {
  test('is read as it was written, with and without a CA, also with an IPv6 address', () => {
    for (const invitation of [PINNED, { ...PINNED, caSha256: null }, { ...PINNED, gateway: '[2001:db8::1]:7444' }]) {
      const line = invitationLine(invitation);
      assert.deepEqual(readInvitationLine(line), { ok: true, invitation });
      assert.match(line, /^pstn-[A-Za-z0-9_-]+$/);
      assert.deepEqual(readInvitationLine(`  postern agent join ${line}\n`), { ok: true, invitation });
    }
  });

  test('is rejected with any character changed, removed or repeated', () => {
    const line = invitationLine(PINNED);
    for (let at = 0; at < line.length; at += 1) {
      const other = line[at] === 'A' ? 'B' : 'A';
      for (const wrong of [
        line.slice(0, at) + other + line.slice(at + 1),
        line.slice(0, at) + line.slice(at + 1),
        line.slice(0, at) + line[at] + line.slice(at),
        line.slice(0, at),
      ]) {
        const reading = readInvitationLine(wrong);
        // Bits that the last character does not use may differ.
        if (reading.ok) assert.deepEqual(reading.invitation, PINNED, wrong);
      }
    }
  });

  test('names no address that is not host:port, and none that a terminal would obey', () => {
    const hostile = [
      ...['', 'gateway', 'gateway.example.com', 'gateway.example.com:0', 'gateway.example.com:70000', ':7444'],
      ...['a b:7444', 'user@evil.test:7444', 'https://evil.test:7444', 'evil.test:7444/path', 'evil.test:7444\n'],
      ...['\u001b[31mevil.test:7444', 'evil.test\u0000:7444', 'evil.test\u009b:7444', '-oProxyCommand=x:7444'],
      ...['127.1:7444', '0x7f.1:7444\u0008', '[::1%eth0]:7444\u001b', `${'a'.repeat(300)}:7444`],
    ];
    for (const gateway of hostile) {
      assert.equal(readInvitationLine(forged(gateway)).ok, false, JSON.stringify(gateway));
    }
  });

  test('is rejected with a sentence, whatever it is', () => {
    for (const text of ['', 'pstn-', 'pstn-AAAA', 'pstn-%%%', 'x'.repeat(5_000), `pstn-${'A'.repeat(5_000)}`, '-']) {
      const reading = readInvitationLine(text);
      assert.ok(!reading.ok && /copy the|ask for/.test(reading.problem), text.slice(0, 20));
    }
  });
});
