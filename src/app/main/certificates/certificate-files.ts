import { X509Certificate } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type FilePair, readAllowedFile } from '../../../control/resources/tls_certificates/certificate-files.ts';
import { messageOf } from '../../../kit/error-text.ts';
import { ignoreErrors } from '../../../kit/guarded-listeners.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { StoredRecord } from '../../../store/store.ts';

const CERTIFICATE_KIND = 'tls_certificate';
const POLL_MS = 30_000;
/** A renewal writes several files; they are read once it is quiet. */
const SETTLE_MS = 200;

export interface CertificateFilesOptions {
  readonly replica: Pick<Replica, 'all' | 'onChange'>;
  readonly directories: readonly string[];
  /** Stores the pair. Rejects if the key does not belong to the certificate. */
  readonly renew: (id: string, pair: FilePair) => Promise<void>;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

/**
 * Follows the files of TLS certificates: by watching their directories, and by polling, because network file systems
 * report nothing. What was read is stored for the other nodes. A pair that does not match, such as one that is half
 * written, is never stored, and is read again at the next look.
 */
export class CertificateFiles {
  readonly #options: CertificateFilesOptions;
  /** What was stored or seen last, by id. */
  readonly #stamps = new Map<string, string>();
  readonly #reported = new Map<string, string>();
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #timer: NodeJS.Timeout;
  readonly #unsubscribe: () => void;
  #settle: NodeJS.Timeout | null = null;
  #looking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: CertificateFilesOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), POLL_MS).unref();
    this.#unsubscribe = options.replica.onChange(
      (changes) => {
        if (changes.some((change) => change.op === 'put' && filesOf(change.record) !== null)) this.#lookSoon();
      },
      [CERTIFICATE_KIND],
    );
    this.#look();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    if (this.#settle !== null) clearTimeout(this.#settle);
    this.#unsubscribe();
    for (const watcher of this.#watchers.values()) watcher.close();
    await this.#looking;
  }

  #lookSoon(): void {
    if (this.#isClosed) return;
    if (this.#settle !== null) clearTimeout(this.#settle);
    this.#settle = setTimeout(() => this.#look(), SETTLE_MS);
  }

  #look(): void {
    this.#looking = this.#looking.then(() => this.#lookAtAll());
  }

  async #lookAtAll(): Promise<void> {
    const directories = new Set<string>();
    for (const record of [...this.#options.replica.all('tls_certificate')]) {
      const files = filesOf(record);
      if (files === null || this.#isClosed) continue;
      directories.add(dirname(files.certificate)).add(dirname(files.key));
      try {
        await this.#lookAt(record, files);
      } catch (error) {
        this.#report(record.id, messageOf(error));
      }
    }
    if (!this.#isClosed) this.#watchOnly(directories);
  }

  async #lookAt({ id, doc, secrets }: StoredRecord, files: Files): Promise<void> {
    const stamp = `${await stampOf(files.certificate)} ${await stampOf(files.key)}`;
    const before = this.#stamps.get(id);
    if (stamp === before) return;
    const certificate = readAllowedFile(files.certificate, this.#options.directories);
    const key = readAllowedFile(files.key, this.#options.directories);
    if (!certificate.ok || !key.ok) {
      const message = certificate.ok ? `private_key_file ${key.ok ? '' : key.message}` : certificate.message;
      this.#report(id, message);
      return;
    }
    const stored = doc['certificate_pem'] as string;
    const isSame = certificate.text === stored && JSON.stringify(key.text) === secrets?.['/private_key_pem'];
    // After a start, an older file than the stored certificate belongs to a node that was not renewed yet.
    const isOlder = before === undefined && !isNewer(certificate.text, stored);
    if (!isSame && !isOlder) {
      await this.#options.renew(id, { certificatePem: certificate.text, privateKeyPem: key.text });
      this.#options.log.info({ certificate: id }, 'read the changed files of a certificate');
    }
    this.#stamps.set(id, stamp);
    this.#reported.delete(id);
  }

  /** Once per cause: a file can stay unreadable for long. */
  #report(id: string, why: string): void {
    if (this.#reported.get(id) === why) return;
    this.#reported.set(id, why);
    this.#options.log.warn(
      { certificate: id, why },
      'cannot use the files of a certificate, the last pair is presented',
    );
  }

  #watchOnly(directories: ReadonlySet<string>): void {
    for (const [directory, watcher] of this.#watchers) {
      if (directories.has(directory)) continue;
      watcher.close();
      this.#watchers.delete(directory);
    }
    for (const directory of directories) {
      if (this.#watchers.has(directory)) continue;
      try {
        const watcher = ignoreErrors(watch(directory, { persistent: false }, () => this.#lookSoon()));
        this.#watchers.set(directory, watcher);
      } catch {
        // The directory does not exist, or there are too many watches: polling remains.
      }
    }
  }
}

interface Files {
  readonly certificate: string;
  readonly key: string;
}

function filesOf({ kind, doc }: Pick<StoredRecord, 'kind' | 'doc'>): Files | null {
  if (kind !== CERTIFICATE_KIND) return null;
  const { certificate_file: certificate, private_key_file: key } = doc;
  const hasBoth = typeof certificate === 'string' && certificate !== '' && typeof key === 'string';
  return hasBoth ? { certificate, key } : null;
}

/** Symbolic links are followed: a renewal may only change the link. */
async function stampOf(path: string): Promise<string> {
  const { ino, mtimeMs, size } = await stat(path);
  return `${ino}:${mtimeMs}:${size}`;
}

function isNewer(pem: string, stored: string): boolean {
  return new X509Certificate(pem).validFromDate >= new X509Certificate(stored).validFromDate;
}
