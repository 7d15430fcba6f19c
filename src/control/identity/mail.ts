import type { Logger } from 'pino';
import type { Clock } from '../../kit/clock.ts';
import { type Finding, findingTable } from '../../kit/findings.ts';
import { MAIL_KIND } from '../../store/own-records.ts';
import type { Replica } from '../../store/replica/replica.ts';
import type { RecordPut, Store, StoredRecord } from '../../store/store.ts';
import type { IdentityMail, PersonalMail } from './contracts.ts';

interface QueuedMail extends PersonalMail {
  readonly id: string;
  readonly attempts: number;
  readonly nextAttemptMs: number;
  readonly record: StoredRecord;
}

/** Address and text are sealed at rest: a code or link in them lets somebody in. */
const SECRET = '/mail';

interface Progress {
  readonly attempts: number;
  readonly nextAttemptMs: number;
}

function mailPut(
  id: string,
  { expiresAtMs, ...sealed }: PersonalMail,
  { attempts, nextAttemptMs }: Progress,
): RecordPut {
  return {
    kind: MAIL_KIND,
    id,
    parent: null,
    doc: { expires_at_ms: expiresAtMs, attempts, next_attempt_ms: nextAttemptMs },
    secrets: { [SECRET]: JSON.stringify(sealed) },
    uniqueKeys: [],
    references: [],
  };
}

function mailOf(record: StoredRecord): QueuedMail {
  const { expires_at_ms: expiresAtMs, attempts, next_attempt_ms: nextAttemptMs } = record.doc as Record<string, number>;
  const { to, subject, text } = JSON.parse(record.secrets?.[SECRET] ?? '{}') as PersonalMail;
  return {
    ...{ id: record.id, to, subject, text, record },
    expiresAtMs: expiresAtMs ?? 0,
    attempts: attempts ?? 0,
    nextAttemptMs: nextAttemptMs ?? 0,
  };
}

/** While the mail server is away, more people cannot be written to. */
const MAX_WAITING = 1000;

interface MailQueuePorts {
  readonly store: Pick<Store, 'commit'>;
  readonly replica: Pick<Replica, 'count'>;
  readonly clock: Clock;
  newId(prefix: string): string;
}

/** Mails wait in the store, sealed, until a process has sent them. */
export class MailQueue implements IdentityMail {
  readonly #ports: MailQueuePorts;

  constructor(ports: MailQueuePorts) {
    this.#ports = ports;
  }

  /** The record of a mail, for the transaction that it belongs to. Null: too many wait. */
  put(mail: PersonalMail): RecordPut | null {
    const { replica, clock } = this.#ports;
    if (replica.count(MAIL_KIND) >= MAX_WAITING) return null;
    return mailPut(this.#ports.newId('ml'), mail, { attempts: 0, nextAttemptMs: clock.nowMs() });
  }

  /** A mail by itself. False: too many wait. */
  async enqueue(mail: PersonalMail): Promise<boolean> {
    const put = this.put(mail);
    if (put === null) return false;
    const committed = await this.#ports.store.commit({ puts: [put] });
    return committed.ok;
  }
}

/** Sends one mail. */
export type SendMail = (mail: PersonalMail) => Promise<SendResult>;

/** `rejected`: the server will never accept it. */
export type SendResult =
  | { readonly outcome: 'sent' }
  | { readonly outcome: 'rejected' | 'failed'; readonly reason: string };

interface MailSenderPorts {
  readonly store: Pick<Store, 'commit'>;
  readonly replica: Replica;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly send: SendMail;
  /** Tells operators, or takes it back with null. */
  readonly setProblem: (problem: Finding | null) => void;
}

/** Longer than an attempt can take. */
const CLAIM_MS = 60_000;
const MAX_BACKOFF_MS = 15 * 60_000;
const FIRST_BACKOFF_MS = 5_000;
/** At once: a mail server that hangs must not hold off all others. */
const AT_ONCE = 4;
const LOOK_EVERY_MS = 1_000;
/** Servers that do not know a sender often ask to come back once or twice (greylisting). */
const TOLD_FROM_ATTEMPT = 3;

/**
 * Sends the mails of the queue. Every process has one. A mail belongs to the process that moved its next attempt into
 * the future: a process that dies leaves it to another. So a mail may arrive twice, and is never lost while it is of
 * use.
 */
export class MailSender {
  readonly #ports: MailSenderPorts;
  readonly #timer: NodeJS.Timeout;
  readonly #running = new Map<string, Promise<void>>();
  readonly #stop: () => void;
  #isClosed = false;

  constructor(ports: MailSenderPorts) {
    this.#ports = ports;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
    this.#stop = ports.replica.onChange(() => this.#look(), [MAIL_KIND]);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#stop();
    await Promise.all(this.#running.values());
  }

  #look(): void {
    const { replica, clock } = this.#ports;
    if (this.#isClosed) return;
    if (replica.count(MAIL_KIND) === 0) {
      this.#ports.setProblem(null);
      return;
    }
    const nowMs = clock.nowMs();
    for (const record of replica.all(MAIL_KIND)) {
      if (this.#running.size >= AT_ONCE) return;
      const mail = mailOf(record);
      const isDue = mail.nextAttemptMs <= nowMs || mail.expiresAtMs <= nowMs;
      if (!isDue || this.#running.has(mail.id)) continue;
      const run = this.#handle(mail)
        .catch((err: unknown) => this.#ports.logger.error({ err, mail: mail.id }, 'failed to handle a mail'))
        .finally(() => {
          this.#running.delete(mail.id);
          this.#look();
        });
      this.#running.set(mail.id, run);
    }
  }

  async #handle(mail: QueuedMail): Promise<void> {
    const { clock, logger } = this.#ports;
    if (mail.expiresAtMs <= clock.nowMs()) {
      if (await this.#remove(mail)) logger.warn({ mail: mail.id, attempts: mail.attempts }, 'a mail expired unsent');
      return;
    }
    const attempts = mail.attempts + 1;
    const claim = mailPut(mail.id, mail, { attempts, nextAttemptMs: clock.nowMs() + CLAIM_MS });
    if (!(await this.#replace(mail, claim))) return;
    const result = await this.#ports.send(mail);
    const current = this.#ports.replica.get(MAIL_KIND, mail.id);
    if (current === undefined) return;
    const claimed = mailOf(current);
    if (result.outcome === 'failed') {
      logger.warn({ mail: mail.id, attempts, reason: result.reason }, 'failed to send a mail: it is sent again later');
      if (attempts >= TOLD_FROM_ATTEMPT) this.#ports.setProblem(mailFindings.found('mail_not_accepted', result));
      const nextAttemptMs = clock.nowMs() + backoffMs(attempts);
      await this.#replace(claimed, mailPut(mail.id, mail, { attempts, nextAttemptMs }));
      return;
    }
    this.#ports.setProblem(null);
    if (result.outcome === 'rejected') {
      logger.warn({ mail: mail.id, attempts, reason: result.reason }, 'the mail server rejected a mail');
    }
    await this.#remove(claimed);
  }

  /** False: another process was faster. */
  async #replace({ record }: QueuedMail, put: RecordPut): Promise<boolean> {
    const { kind, id, revision } = record;
    const { ok } = await this.#ports.store.commit({ expect: [{ kind, id, revision }], puts: [put] });
    if (!ok) await this.#ports.replica.refresh();
    return ok;
  }

  async #remove({ record: { kind, id, revision } }: QueuedMail): Promise<boolean> {
    const { ok } = await this.#ports.store.commit({ expect: [{ kind, id, revision }], deletes: [{ kind, id }] });
    if (!ok) await this.#ports.replica.refresh();
    return ok;
  }
}

function backoffMs(attempts: number): number {
  return Math.min(FIRST_BACKOFF_MS * 2 ** (attempts - 1), MAX_BACKOFF_MS);
}

/** With codes only: the server's text may repeat an address or a password. */
/** Each node reports what its mail server does. */
const mailFindings = findingTable('nodes', {
  mail_not_accepted: {
    level: 'problem',
    text: ({ reason }: { readonly reason: string }) =>
      `the mail server did not accept mails (${reason}): they wait, and are sent again until they expire`,
    advice:
      'check smtp_url (POSTERN_SMTP_URL) and mail_from: host, port, user and password, and that the server presents a valid certificate; links can also be handed over by hand: postern users invite PERSON --print',
  },
});

const DAY_MS = 86_400_000;

/** Tells the person: somebody else may have registered it. */
export function newPasskeyMail(
  { email, name }: { readonly email: string; readonly name: string },
  passkey: { readonly name: string },
  { hostname, issuer }: { readonly hostname: string; readonly issuer: string },
  nowMs: number,
): PersonalMail {
  return {
    to: email,
    subject: `New passkey for ${hostname}`,
    text: [
      name === '' ? 'Hello,' : `Hello ${name},`,
      `the passkey "${passkey.name}" was added to your account at ${hostname}, ${new Date(nowMs).toUTCString()}.`,
      `If that was not you, remove it at ${issuer}/account and tell your administrator at once.`,
    ].join('\n\n'),
    expiresAtMs: nowMs + DAY_MS,
  };
}
