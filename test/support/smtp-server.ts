import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Cleanup } from './cleanup.ts';

export interface ReceivedMail {
  readonly to: readonly string[];
  /** Head and body, with soft line breaks of quoted-printable removed. */
  readonly text: string;
}

/** A mail server on loopback that accepts mails, or answers a command as told. */
export class SmtpServer {
  readonly mails: ReceivedMail[] = [];
  readonly url: string;
  /** Answers by command instead of the usual ones: `{ RCPT: '550 no such user' }`. */
  answers: Readonly<Record<string, string>> = {};

  private constructor(port: number) {
    this.url = `smtp://127.0.0.1:${port}`;
  }

  static async open(test: Cleanup): Promise<SmtpServer> {
    const sockets = new Set<Socket>();
    let own: SmtpServer | null = null;
    const listening = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      if (own !== null) own.#serve(socket);
    }).listen(0, '127.0.0.1');
    await once(listening, 'listening');
    test.after(async () => {
      for (const socket of sockets) socket.destroy();
      listening.close();
      await once(listening, 'close');
    });
    own = new SmtpServer((listening.address() as AddressInfo).port);
    return own;
  }

  #serve(socket: Socket): void {
    socket.write('220 test ESMTP\r\n');
    let waiting = '';
    let to: string[] = [];
    let data: string[] | null = null;
    socket.on('data', (part) => {
      waiting += part.toString();
      for (let end = waiting.indexOf('\r\n'); end !== -1; end = waiting.indexOf('\r\n')) {
        const line = waiting.slice(0, end);
        waiting = waiting.slice(end + 2);
        if (data !== null && line !== '.') {
          data.push(line);
          continue;
        }
        const word = data !== null ? '.' : (line.split(/[ :]/)[0] ?? '').toUpperCase();
        const told = this.answers[word];
        if (word === 'RCPT') to.push(line.replace(/^.*<(.*)>.*$/, '$1'));
        if (word === 'DATA' && told === undefined) data = [];
        if (word === '.' && told === undefined) {
          this.mails.push({ to, text: (data ?? []).join('\n').replaceAll('=\n', '').replaceAll('=3D', '=') });
        }
        if (word === '.') [to, data] = [[], null];
        const usual = { EHLO: '250 test', DATA: '354 go on', QUIT: '221 bye' }[word] ?? '250 ok';
        socket.write(`${told ?? usual}\r\n`);
      }
    });
  }
}
