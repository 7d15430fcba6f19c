import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { smtpSender } from './smtp.ts';

const MAIL = { to: 'ana@example.com', subject: 'Grüße', text: 'Your link\n.\nis here', expiresAtMs: 0 };

/** An SMTP server on loopback that does what a script says. */
async function server(t: TestContext, serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const listening = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    serve(socket);
  }).listen(0, '127.0.0.1');
  await once(listening, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    listening.close();
  });
  return `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}`;
}

/** Answers as usual up to a command, and then does something else. */
function interrupted(word: string, act: (socket: Socket) => void): (socket: Socket) => void {
  return scripted({ [word]: act });
}

type Reply = string | ((socket: Socket) => void);

/** Answers each command by its first word. */
function scripted(answers: Readonly<Record<string, Reply>>, lines: string[] = []): (socket: Socket) => void {
  return (socket) => {
    socket.write('220 test ESMTP\r\n');
    let text = '';
    let isData = false;
    socket.on('data', (part) => {
      text += part.toString();
      for (let end = text.indexOf('\r\n'); end !== -1; end = text.indexOf('\r\n')) {
        const line = text.slice(0, end);
        text = text.slice(end + 2);
        lines.push(line);
        if (isData && line !== '.') continue;
        const word = isData ? '.' : (line.split(/[ :]/)[0] ?? '').toUpperCase();
        isData = word === 'DATA' && answers['DATA'] === undefined;
        const standard = { EHLO: '250 test', DATA: '354 go on', QUIT: '221 bye' }[word] ?? '250 ok';
        const reply = answers[word] ?? standard;
        if (typeof reply === 'string') socket.write(`${reply}\r\n`);
        else reply(socket);
      }
    });
  };
}

const send = (url: string, timeoutMs = 5_000) =>
  smtpSender({ url, from: 'Postern <postern@example.com>', timeoutMs })(MAIL);

suite('the SMTP client', () => {
  test('delivers one mail to one address, with the subject encoded', async (t) => {
    const lines: string[] = [];
    assert.deepEqual(await send(await server(t, scripted({}, lines))), { outcome: 'sent' });
    assert.ok(lines.includes('MAIL FROM:<postern@example.com>'));
    assert.deepEqual(
      lines.filter((line) => line.startsWith('RCPT')),
      ['RCPT TO:<ana@example.com>'],
    );
    assert.ok(lines.includes('Auto-Submitted: auto-generated'));
    assert.ok(
      lines.some((line) => line.startsWith('Subject: =?UTF-8?')),
      lines.join('\n'),
    );
    assert.ok(lines.includes('..'), 'a line with a dot is escaped');
  });

  for (const [what, answers, wanted] of [
    ['an unknown address', { RCPT: '550 no such user' }, { outcome: 'rejected', reason: 'EENVELOPE 550' }],
    ['a wrong sender', { MAIL: '550 not your address' }, { outcome: 'failed', reason: 'EENVELOPE 550' }],
    ['a full mailbox', { RCPT: '452 too many' }, { outcome: 'failed', reason: 'EENVELOPE 452' }],
    ['a rejected message', { '.': '554 spam' }, { outcome: 'rejected', reason: 'EMESSAGE 554' }],
    [
      'a rejected greeting',
      { EHLO: '554 go away', HELO: '554 go away' },
      { outcome: 'failed', reason: /554|EPROTOCOL/ },
    ],
  ] as const) {
    test(`tells ${what} apart`, async (t) => {
      const { outcome, reason } = (await send(await server(t, scripted(answers)))) as {
        outcome: string;
        reason: string;
      };
      assert.equal(outcome, wanted.outcome, reason);
      if (typeof wanted.reason === 'string') assert.equal(reason, wanted.reason);
      else assert.match(reason, wanted.reason);
    });
  }

  for (const [what, serve] of [
    ['says nothing', () => {}],
    ['hangs after the greeting', (socket: Socket) => void socket.write('220 test\r\n')],
    [
      'sends a byte now and then',
      (socket: Socket) => {
        const timer = setInterval(() => socket.write('2'), 50);
        socket.on('close', () => clearInterval(timer));
      },
    ],
    ['closes at once', (socket: Socket) => void socket.end()],
    ['resets', (socket: Socket) => void socket.resetAndDestroy()],
    ['speaks another protocol', (socket: Socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
    [
      'answers with random bytes',
      (socket: Socket) => void socket.write(Buffer.concat([Buffer.from('220 x\r\n'), randomBytes(4096)])),
    ],
    [
      'answers with NULs and line ends',
      (socket: Socket) => void socket.write('\0\r\n\r\n\n\r220-\r\n250\r\n'.repeat(100)),
    ],
    [
      'never ends its answer',
      (socket: Socket) => {
        const more = () => {
          while (!socket.destroyed && socket.write('220-x\r\n'.repeat(1000)));
        };
        socket.on('drain', more);
        more();
      },
    ],
    [
      'sends one endless line',
      (socket: Socket) => {
        const more = () => {
          while (!socket.destroyed && socket.write('2'.repeat(16_384)));
        };
        socket.on('drain', more);
        more();
      },
    ],
  ] as const) {
    test(`a server that ${what} is a failure, in time`, async (t) => {
      const result = await send(await server(t, serve as (socket: Socket) => void), 600);
      assert.equal(result.outcome, 'failed', JSON.stringify(result));
    });
  }

  for (const [what, act] of [
    ['closes', (socket: Socket) => void socket.end()],
    ['resets', (socket: Socket) => void socket.resetAndDestroy()],
    ['hangs', () => {}],
    ['answers half a line', (socket: Socket) => void socket.write('25')],
    ['answers with random bytes', (socket: Socket) => void socket.write(randomBytes(4096))],
  ] as const) {
    test(`a server that ${what} in the middle is a failure, in time, whatever was asked last`, async (t) => {
      const results = await Promise.all(
        ['EHLO', 'MAIL', 'RCPT', 'DATA', '.'].map(async (word) => {
          const { outcome } = await send(await server(t, interrupted(word, act)), 600);
          return `${word} ${outcome}`;
        }),
      );
      assert.deepEqual(results, ['EHLO failed', 'MAIL failed', 'RCPT failed', 'DATA failed', '. failed']);
    });
  }

  test('a server that cannot be reached is a failure', async () => {
    assert.equal((await send('smtp://127.0.0.1:1')).outcome, 'failed');
    assert.equal((await send('smtps://127.0.0.1:1')).outcome, 'failed');
  });

  test('a wrong password is a failure that shows no part of it', async (t) => {
    const answers = { EHLO: '250-test\r\n250 AUTH PLAIN', AUTH: '535 s3cret-p@ss is wrong' };
    const url = (await server(t, scripted(answers))).replace('//', '//user:s3cret-p%40ss@');
    const result = await send(url);
    assert.deepEqual(result, { outcome: 'failed', reason: 'EAUTH 535' });
  });

  test('a server without TLS that is not on this machine gets no mail', async (t) => {
    const lines: string[] = [];
    const port = new URL(await server(t, scripted({}, lines))).port;
    const result = await smtpSender({
      url: `smtp://mail.example.com:${port}`,
      from: 'a@example.com',
      timeoutMs: 5_000,
      dialedHost: '127.0.0.1',
    })(MAIL);
    assert.equal(result.outcome, 'failed');
    assert.deepEqual(
      lines.filter((line) => /^(MAIL|RCPT|DATA)/.test(line)),
      [],
    );
  });
});
