import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Cleanup } from './cleanup.ts';

export interface ReceivedMail {
  readonly to: string;
  /** Head and body as they were sent. */
  readonly text: string;
}

/** An SMTP server on loopback that keeps what it gets. */
export class MailServer {
  readonly url: string;
  readonly mails: ReceivedMail[] = [];
  #arrived = Promise.withResolvers<void>();

  private constructor(port: number) {
    this.url = `smtp://127.0.0.1:${port}`;
  }

  static async open(test: Cleanup): Promise<MailServer> {
    const sockets = new Set<Socket>();
    const listening = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      server.#serve(socket);
    }).listen(0, '127.0.0.1');
    await once(listening, 'listening');
    const server = new MailServer((listening.address() as AddressInfo).port);
    test.after(() => {
      for (const socket of sockets) socket.destroy();
      listening.close();
      return Promise.resolve();
    });
    return server;
  }

  /** The first mail to an address after `skipped` others to it, when it is there. */
  async mailTo(address: string, skipped = 0): Promise<ReceivedMail> {
    for (;;) {
      const found = this.mails.filter(({ to }) => to === address)[skipped];
      if (found !== undefined) return found;
      await this.#arrived.promise;
    }
  }

  #serve(socket: Socket): void {
    socket.write('220 test ESMTP\r\n');
    let text = '';
    let to = '';
    let data: string[] | null = null;
    socket.on('data', (part) => {
      text += part.toString();
      for (let end = text.indexOf('\r\n'); end !== -1; end = text.indexOf('\r\n')) {
        const line = text.slice(0, end);
        text = text.slice(end + 2);
        if (data !== null && line !== '.') {
          data.push(line.replace(/^\.\./, '.'));
          continue;
        }
        if (data !== null) {
          this.mails.push({ to, text: data.join('\n') });
          this.#arrived.resolve();
          this.#arrived = Promise.withResolvers();
        }
        data = line === 'DATA' ? [] : null;
        to = /^RCPT TO:<([^>]+)>/.exec(line)?.[1] ?? to;
        socket.write(`${line === 'DATA' ? '354 go on' : line === 'QUIT' ? '221 bye' : '250 ok'}\r\n`);
      }
    });
  }
}
