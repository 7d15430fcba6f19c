import type { ComponentType } from 'preact';
import type { Document } from '../api/use-pages.ts';
import type { FormValue } from '../components/form/schema-form.tsx';
import { AccessPreview } from './access-preview.tsx';
import { AccessView } from './access-view.tsx';
import { BackendView } from './backend-view.tsx';
import { BasicAuthView } from './basic-auth-view.tsx';
import { OidcView } from './oidc-view.tsx';
import { PathRulesView } from './path-rules-view.tsx';
import { RateLimitView } from './rate-limit-view.tsx';

export interface ModuleViewProps {
  readonly config: Document;
  readonly edgeId: string;
  readonly routeId: string | null;
}

export interface ModulePreviewProps {
  readonly value: FormValue;
  /** Path of the module in the API. */
  readonly path: string;
}

/** Shown below the form while a module is edited. */
export const MODULE_PREVIEWS: Readonly<Record<string, ComponentType<ModulePreviewProps>>> = {
  access: AccessPreview,
};

/** Modules with a view of their own. All others are shown field by field. */
export const MODULE_VIEWS: Readonly<Record<string, ComponentType<ModuleViewProps>>> = {
  oidc: OidcView,
  access: AccessView,
  backend: BackendView,
  rate_limit: RateLimitView,
  redirect: PathRulesView,
  rewrite: PathRulesView,
  basic_auth: BasicAuthView,
};
