/** The form in which a tool's result is stored: what the model reads, and the whole where that is only a part. */
import type { ToolResultBlock } from '../../workflows/core/message';
import { defined } from '../../workflows/core/json';
import type { Store } from '../stores/store';
import { canonicalJson } from '../stores/content-hash';

/** Stores a result; returns its hash. */
export function putResult(
  store: Store,
  result: Pick<ToolResultBlock, 'content' | 'isError' | 'blob'>,
): Promise<string> {
  const { content, isError, blob } = result;
  return store.putBlob(canonicalJson({ content, isError, ...defined({ blob }) }));
}
