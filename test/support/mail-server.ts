import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import type { Cleanup } from './cleanup.ts';

export interface ReceivedMail {
  readonly to: string;
  /** Head and body as they were sent. */
  readonly text: string;
  readonly isEncrypted: boolean;
  /** Who logged in before, if anybody had to. */
  readonly user: string | null;
}

export interface MailServerOptions {
  /** From the first byte, or by the command STARTTLS. Absent: never. */
  readonly tls?: 'implicit' | 'starttls';
  readonly certificate?: { readonly certificatePem: string; readonly keyPem: string };
  /** Mails are accepted from this user only. */
  readonly login?: { readonly user: string; readonly password: string };
}

/** A mail server on loopback that keeps what it gets. */
export class MailServer {
  readonly port: number;
  readonly mails: ReceivedMail[] = [];
  /** What clients did, in order: AUTH, MAIL, RCPT. */
  readonly commands: string[] = [];
  readonly #tls: MailServerOptions['tls'];
  #arrived = Promise.withResolvers<void>();

  private constructor(port: number, tls: MailServerOptions['tls']) {
    this.port = port;
    this.#tls = tls;
  }

  static async open(test: Cleanup, options: MailServerOptions = {}): Promise<MailServer> {
    const { tls, certificate, login } = options;
    const holder: { own?: MailServer } = {};
    const server = new SMTPServer({
      secure: tls === 'implicit',
      ...(certificate !== undefined && { cert: certificate.certificatePem, key: certificate.keyPem }),
      disabledCommands: [...(tls === 'starttls' ? [] : ['STARTTLS']), ...(login === undefined ? ['AUTH'] : [])],
      authOptional: login === undefined,
      disableReverseLookup: true,
      closeTimeout: 1,
      onAuth: ({ username, password }, _session, done) => {
        holder.own?.commands.push('AUTH');
        const isRight = username === login?.user && password === login?.password;
        done(isRight ? null : new Error('wrong password'), isRight ? { user: username } : undefined);
      },
      onMailFrom: (_address, _session, done) => {
        holder.own?.commands.push('MAIL');
        done();
      },
      onRcptTo: (_address, _session, done) => {
        holder.own?.commands.push('RCPT');
        done();
      },
      onData: (stream, session, done) => {
        const parts: Buffer[] = [];
        stream.on('data', (part: Buffer) => parts.push(part));
        stream.on('end', () => {
          holder.own?.keep({
            to: session.envelope.rcptTo[0]?.address ?? '',
            text: Buffer.concat(parts).toString().replaceAll('\r\n', '\n'),
            isEncrypted: session.secure,
            user: typeof session.user === 'string' ? session.user : null,
          });
          done();
        });
      },
    });
    // A client that does not trust the certificate ends the connection.
    server.on('error', () => {});
    await once(server.listen(0, '127.0.0.1'), 'listening');
    test.after(() => new Promise<void>((resolve) => server.close(() => resolve())));
    holder.own = new MailServer((server.server.address() as AddressInfo).port, tls);
    return holder.own;
  }

  get url(): string {
    return this.urlAt('127.0.0.1');
  }

  /** `user`: "name:password@". */
  urlAt(host: string, user = ''): string {
    return `${this.#tls === 'implicit' ? 'smtps' : 'smtp'}://${user}${host}:${this.port}`;
  }

  /** The first mail to an address after `skipped` others to it, when it is there. */
  async mailTo(address: string, skipped = 0): Promise<ReceivedMail> {
    for (;;) {
      const found = this.mails.filter(({ to }) => to === address)[skipped];
      if (found !== undefined) return found;
      await this.#arrived.promise;
    }
  }

  /** The first mail to an address that holds a code, when it is there. */
  async codeTo(address: string): Promise<ReceivedMail & { readonly code: string }> {
    for (let skipped = 0; ; skipped += 1) {
      const mail = await this.mailTo(address, skipped);
      // Alone on its line: parts of the head, such as the id of the message, can look like a code.
      const code = /^ +([A-Z0-9]{4}-[A-Z0-9]{4})$/m.exec(mail.text)?.[1];
      if (code !== undefined) return { ...mail, code };
    }
  }

  private keep(mail: ReceivedMail): void {
    this.mails.push(mail);
    this.#arrived.resolve();
    this.#arrived = Promise.withResolvers();
  }
}
