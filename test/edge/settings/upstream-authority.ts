import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getCACertificates } from 'node:tls';
import type { Cleanup } from '../../support/cleanup.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { type Issued, type IssueRequest, issue } from '../tls/test-authority.ts';

/** Not a promise: node:test counts what follows its `await` as part of the file that created it. */
let trustedHere: UpstreamAuthority | undefined;

/** An authority that this process trusts for upstreams, as an operator would configure it: in the system's list. */
export class UpstreamAuthority {
  readonly issued: Issued;

  private constructor(issued: Issued) {
    this.issued = issued;
  }

  /**
   * Call it before the process makes its first TLS connection to an upstream: the system's list is read once. Test
   * files that share a process share the authority.
   */
  static async trusted(test: Cleanup): Promise<UpstreamAuthority> {
    trustedHere ??= await UpstreamAuthority.#trust(test);
    return trustedHere;
  }

  static async #trust(test: Cleanup): Promise<UpstreamAuthority> {
    const issued = await issue({ commonName: 'CA of upstreams', isCa: true });
    const folder = await tempDir(test);
    const path = join(folder, 'roots.pem');
    await writeFile(path, issued.certificatePem);
    const before = { SSL_CERT_FILE: process.env['SSL_CERT_FILE'], SSL_CERT_DIR: process.env['SSL_CERT_DIR'] };
    Object.assign(process.env, { SSL_CERT_FILE: path, SSL_CERT_DIR: folder });
    getCACertificates('system');
    test.after(async () => {
      for (const [name, value] of Object.entries(before)) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    });
    return new UpstreamAuthority(issued);
  }

  /** A certificate for `localhost` by default. */
  issue(request: Partial<IssueRequest> = {}): Promise<Issued> {
    const usual = { commonName: 'upstream', issuer: this.issued, usages: ['server'], dnsNames: ['localhost'] } as const;
    return issue({ ...usual, ...request });
  }
}
