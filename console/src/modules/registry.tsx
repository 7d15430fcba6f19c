import type { ComponentType } from 'preact';
import type { Document } from '../api/use-pages.ts';
import { AccessView } from './access-view.tsx';
import { BackendView } from './backend-view.tsx';
import { OidcView } from './oidc-view.tsx';

export interface ModuleViewProps {
  readonly config: Document;
  readonly edgeId: string;
  readonly routeId: string | null;
}

/** Modules with a view of their own. All others are shown field by field. */
export const MODULE_VIEWS: Readonly<Record<string, ComponentType<ModuleViewProps>>> = {
  oidc: OidcView,
  access: AccessView,
  backend: BackendView,
};
