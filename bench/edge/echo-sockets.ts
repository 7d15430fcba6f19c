import { randomBytes } from 'node:crypto';
import { connect, type TLSSocket } from 'node:tls';

const OPENED_AT_ONCE = 50;

/**
 * WebSockets whose upstream echoes every byte: after the handshake the frames are arbitrary bytes. Each sends something
 * every five seconds.
 */
export class EchoSockets {
  dropped = 0;
  readonly #port: number;
  readonly #host: string;
  readonly #sockets: TLSSocket[] = [];
  #timer: NodeJS.Timeout | null = null;
  #isClosing = false;

  constructor(port: number, host: string) {
    this.#port = port;
    this.#host = host;
  }

  async open(count: number): Promise<void> {
    while (this.#sockets.length < count) {
      const now = Math.min(OPENED_AT_ONCE, count - this.#sockets.length);
      this.#sockets.push(...(await Promise.all(Array.from({ length: now }, () => this.#openOne()))));
    }
    let next = 0;
    this.#timer = setInterval(() => {
      for (let said = 0; said < count / 100; said += 1) {
        const socket = this.#sockets[next % count] as TLSSocket;
        if (!socket.destroyed) socket.write('still here');
        next += 1;
      }
    }, 50);
  }

  /** How many respond now. */
  async echo(): Promise<number> {
    if (this.#timer !== null) clearInterval(this.#timer);
    const answers = this.#sockets.map(
      (socket, at) =>
        new Promise<boolean>((resolve) => {
          if (socket.destroyed) {
            resolve(false);
            return;
          }
          const word = `last words ${at}.`;
          let heard = '';
          socket.on('data', (bytes: Buffer) => {
            heard += bytes.toString('latin1');
            if (heard.endsWith(word)) resolve(true);
          });
          socket.once('close', () => resolve(false));
          socket.write(word);
        }),
    );
    return (await Promise.all(answers)).filter(Boolean).length;
  }

  close(): void {
    this.#isClosing = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    for (const socket of this.#sockets) socket.destroy();
  }

  #openOne(): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const socket = connect({
        host: '127.0.0.1',
        port: this.#port,
        servername: this.#host,
        // The bench's own server; its name is not what is measured.
        rejectUnauthorized: false,
      });
      socket.once('error', reject);
      socket.once('secureConnect', () => {
        const key = randomBytes(16).toString('base64');
        socket.write(
          `GET / HTTP/1.1\r\nHost: ${this.#host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
        );
      });
      socket.once('data', (bytes: Buffer) => {
        if (!bytes.toString('latin1').startsWith('HTTP/1.1 101 ')) {
          reject(new Error(bytes.toString('latin1')));
          return;
        }
        socket.off('error', reject).on('error', () => {});
        socket.once('close', () => {
          if (!this.#isClosing) this.dropped += 1;
        });
        socket.resume();
        resolve(socket);
      });
    });
  }
}
