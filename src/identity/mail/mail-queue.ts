import type { Clock } from '../../lib/clock.ts';
import type { Replica } from '../../replica/replica.ts';
import { MAIL_KIND } from '../../store/kinds-without-history.ts';
import type { RecordPut, Store } from '../../store/store.ts';
import type { IdentityMail, PersonalMail } from '../contracts/identity-mail.ts';
import { mailPut } from './mail-record.ts';

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
