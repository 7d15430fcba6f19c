import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { whyUnwritable } from '../../../../kit/error-text.ts';
import { withField } from '../../../../kit/text/yaml/read-yaml.ts';
import type { EnrollOptions, Enrolment } from '../../../../tunnel/agent/enroll.ts';
import type { AgentPorts } from '../agent-ports.ts';
import type { AgentConfig } from '../config/agent-config.ts';
import { type ConfigFile, examineAgentConfig, readAgentConfig } from '../config/read-agent-config.ts';
import { agentCommandErrors } from '../errors.ts';

const CA_FILE = 'postern-gateway-ca.pem';
const NEW_FILE = 'version: 2\n';

interface JoinedAccess {
  readonly serverAddr: string;
  readonly token: string;
  /** PEM; null: the system's authorities, or those that the file names. */
  readonly authority: string | null;
}

interface FoundFile extends Pick<ConfigFile, 'path' | 'isOwn'> {
  readonly text: string | null;
}

/** The configuration file of an agent that joins. */
export class JoinedFile {
  readonly path: string;
  /** See `ConfigFile.isOwn`. */
  readonly isOwn: boolean;
  readonly #text: string;
  readonly #config: AgentConfig;
  readonly #files: JoinPorts['files'];

  /** `text` null: there is none yet. Throws if it is not valid. */
  constructor({ path, text, isOwn }: FoundFile, files: JoinPorts['files']) {
    this.path = path;
    this.isOwn = isOwn;
    this.#text = text ?? NEW_FILE;
    this.#config = readAgentConfig(this.#text, path);
    this.#files = files;
  }

  /** The server that the file has a token for. */
  get current(): string | null {
    const { authtoken, serverAddr } = this.#config;
    return authtoken === null && serverAddr === null ? null : (serverAddr ?? 'this machine');
  }

  get namesCa(): boolean {
    return this.#config.rootCas.length > 0;
  }

  /** Before anything is sent: an invitation is spent once, so its token must survive a crash. */
  async pendingToken(invitation: string, newToken: () => string): Promise<string> {
    this.#textWith({ serverAddr: 'localhost:1', token: 'token', authority: 'any' });
    const path = this.#pendingPath;
    const text = await this.#files.read(path).catch(() => '');
    const [of, token] = text.split('\n');
    if (of === invitation && token !== undefined && token !== '') return token;
    const chosen = newToken();
    await this.#write(path, `${invitation}\n${chosen}\n`);
    return chosen;
  }

  async forgetPending(): Promise<void> {
    await this.#files.remove(this.#pendingPath);
  }

  /** Keeps everything else in the file. */
  async save(access: JoinedAccess): Promise<void> {
    const text = this.#textWith(access);
    if (access.authority !== null) await this.#write(this.#caPath, access.authority);
    await this.#write(this.path, text);
    await this.forgetPending();
  }

  #textWith({ serverAddr, token, authority }: JoinedAccess): string {
    // Absolute: systemd hands a service a copy of the file at another place.
    const rootCas = authority === null ? this.#config.rootCas : [this.#caPath];
    let text = withField(withField(this.#text, 'server_addr', serverAddr), 'authtoken', token);
    if (authority !== null) text = withField(text, 'root_cas', rootCas);
    const reading = examineAgentConfig(text, this.path);
    const wanted = { ...this.#config, serverAddr, authtoken: token, rootCas };
    if (reading.ok && isDeepStrictEqual(reading.config, wanted)) return text;
    const message = `${this.path} has a form that this command cannot change without touching the rest: choose another file with --config. The invitation was not used`;
    throw agentCommandErrors.create('ERR_POSTERN_AGENT_CONFIG', message);
  }

  get #caPath(): string {
    return join(dirname(this.path), CA_FILE);
  }

  get #pendingPath(): string {
    return `${this.path}.joining`;
  }

  async #write(path: string, text: string): Promise<void> {
    try {
      await this.#files.writePrivate(path, text);
    } catch (cause) {
      const message = `cannot write the file ${path}: ${whyUnwritable(cause)}. --config names another place`;
      throw agentCommandErrors.create('ERR_POSTERN_AGENT_CONFIG', message, { cause });
    }
  }
}

/** External effects of `postern agent join`. */
export interface JoinPorts {
  readonly files: AgentPorts['files'] & {
    /** Absolute, with symbolic links of an existing file resolved. */
    resolve(path: string): Promise<string>;
    /** Atomically, readable for this user only; creates the directory. */
    writePrivate(path: string, text: string): Promise<void>;
    remove(path: string): Promise<void>;
  };
  readonly hostName: string;
  enroll(options: EnrollOptions): Promise<Enrolment>;
  /** The token of a new credential. */
  newToken(): string;
  readStdin(): Promise<string>;
}
