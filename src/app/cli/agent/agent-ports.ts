import type { AgentHandle, AgentOptions } from '../../../tunnel/agent/handle.ts';
import type { Inspector, InspectorOptions } from '../../../tunnel/agent/inspector/index.ts';

/** External effects of the agent's commands. */
export interface AgentPorts {
  readonly version: string;
  /** Throws AgentError for an invalid option; everything else is reported by events. */
  startAgent(options: AgentOptions): AgentHandle;
  /** Throws AgentError when it cannot listen. */
  startInspector(options: InspectorOptions): Promise<Pick<Inspector, 'observe' | 'url' | 'isOtherPort' | 'close'>>;
  readonly files: {
    readonly home: string;
    read(path: string): Promise<string>;
    exists(path: string): Promise<boolean>;
    /** Names in a directory; empty when it cannot be read. */
    list(path: string): Promise<readonly string[]>;
  };
  readonly terminal: Terminal;
  readonly process: ProcessPort;
  /** Milliseconds since 1970. */
  nowMs(): number;
}

export interface Terminal {
  write(text: string): void;
  size(): { readonly columns: number; readonly rows: number };
  onResize(listener: () => void): () => void;
}

export interface ProcessPort {
  /** SIGINT, SIGTERM and SIGHUP. */
  onStopSignal(listener: () => void): () => void;
  /** `suspend` runs before Ctrl-Z stops the process, `resume` when it continues. */
  onSuspend(suspend: () => void, resume: () => void): () => void;
  /** The process ends, for any reason. */
  onExit(listener: () => void): () => void;
  /** An exception or rejection that no connection owns. */
  onFailure(listener: (error: unknown) => void): () => void;
  /** Ends the process, even if handles are still open. */
  exit(code: number): void;
}
