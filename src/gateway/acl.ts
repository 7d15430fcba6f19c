const BIND = 'bind:';
const CONFIGURE = 'configure:';

/**
 * The tunnels that a credential lets its agents open, and the modules it lets them configure. The two are independent:
 * without a `bind:` rule agents may open anything, without a `configure:` rule they may configure every module, and a
 * rule of one kind does not affect the other.
 */
export class Acl {
  readonly #binds: ReadonlySet<string>;
  readonly #modules: ReadonlySet<string>;

  constructor(rules: readonly string[]) {
    this.#modules = new Set(
      rules.filter((rule) => rule.startsWith(CONFIGURE)).map((rule) => rule.slice(CONFIGURE.length)),
    );
    // A rule of a kind that this version does not know restricts what may be opened: it allows nothing.
    this.#binds = new Set(
      rules.filter((rule) => !rule.startsWith(CONFIGURE)).map((rule) => rule.replace(new RegExp(`^${BIND}`), '')),
    );
  }

  allowsHost(host: string): boolean {
    if (this.#bindsAnything()) return true;
    // As for edges: a wildcard covers one label.
    return this.#binds.has(host) || this.#binds.has(`*${host.slice(host.indexOf('.'))}`);
  }

  /** By exact name, not by a wildcard or by the absence of rules: only this opens a host that an edge covers. */
  namesExactly(host: string): boolean {
    return this.#binds.has(host);
  }

  allowsLabels(labels: Readonly<Record<string, string>>): boolean {
    return this.#bindsAnything() || Object.entries(labels).every(([key, value]) => this.#binds.has(`${key}=${value}`));
  }

  /** Ports have no name that a rule could allow: they require unrestricted permission. */
  allowsPorts(): boolean {
    return this.#bindsAnything();
  }

  /** The modules of a tunnel that agents with this credential may not configure. */
  forbiddenModules(modules: Readonly<Record<string, unknown>>): readonly string[] {
    if (this.#modules.size === 0 || this.#modules.has('*')) return [];
    return Object.keys(modules).filter((name) => modules[name] !== undefined && !this.#modules.has(name));
  }

  #bindsAnything(): boolean {
    return this.#binds.size === 0 || this.#binds.has('*');
  }
}
