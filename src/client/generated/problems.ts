// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface ProblemCheckAnswer {
  /** The problems, worst first. */
  readonly problems: readonly {
    /**
     * "problem": something does not work. "warning": it will become a problem, or allows more than may be intended.
     * "hint": worth knowing.
     */
    readonly severity: 'problem' | 'warning' | 'hint';
    /** The check that found it, as "postern doctor" names it. */
    readonly check: string;
    /** What is wrong with what, in one line. */
    readonly message: string;
    /** What to do; null if there is nothing to say. */
    readonly advice: string | null;
    /** The object that it is about; null if it is about several, or about the settings. */
    readonly object: Ref | null;
  }[];
  /** URI of the list. */
  readonly uri: string;
  /** When the checks ran. */
  readonly checked_at: string;
  /** How many there are of each severity, including those beyond the limit. */
  readonly counts: {
    /** How many problems there are. */
    readonly problem: number;
    /** How many warnings there are. */
    readonly warning: number;
    /** How many hints there are. */
    readonly hint: number;
  };
  /** What is fine. */
  readonly passed: readonly {
    /** The check. */
    readonly check: string;
    /** How many things it found to be fine. */
    readonly count: number;
    /** A line about each of the first ten. */
    readonly messages: readonly string[];
  }[];
  /** How many are not listed because of the limit. */
  readonly more: number;
  /** Checks that were left out because the key may not read what they are about. */
  readonly skipped_checks: readonly string[];
}

/** Something in the configuration or the state of the installation that does not work, or soon will not. */
export class ProblemsClient extends ResourceClient {
  /**
   * Find problems. Runs the checks that "postern doctor", "postern status" and the console show, over what the
   * server knows: raised alerts, configuration, certificates, nodes, logins and settings of the server that
   * answers. It also asks OpenID providers whether they can be reached, at most once in ten seconds. The worst
   * come first. A result is at most a few seconds old. Checks about objects that the key may not read are left
   * out, and named.
   */
  check(query?: PageQuery, options?: RequestOptions): Promise<Answer<ProblemCheckAnswer>> {
    return this.call({ method: 'GET', path: '/problems', query }, options);
  }
}
