/** The vendor-neutral transcript: what is stored, and what every provider adapter maps to its wire. */
import type { JsonObject } from './json';

/** Content hash of a transcript node or blob: base64url SHA-256, 43 characters. */
export type ContentHash = string;

/** Where an agent's definition is stored, as its run has it. */
export interface DefinitionReference {
  readonly storeId: string;
  readonly definition: ContentHash;
}

/** Identity of a transcript: the hash of its last node. */
export type Head = ContentHash;

/** Plain text, by the user, the runtime or the model. */
export interface TextBlock {
  readonly type: 'text';
  readonly text: string;
}

/** What every image and document has: its bytes are in the store, and the transcript names them. */
interface StoredMedia {
  /** Blob with the bytes. */
  readonly ref: ContentHash;
  /** Of the file itself; as base64 it is a third longer. */
  readonly bytes: number;
  /** File name, if whoever gave it named it; at most 100 characters. */
  readonly name?: string;
  /** Compaction took it out of the requests: the model reads in its place what it was. */
  readonly removed?: true;
  /** The bytes as base64 without a data-URL prefix: only in a request that is about to be sent, never in a transcript. */
  readonly data?: string;
}

/** An image that the user or a tool gave. */
export interface ImageBlock extends StoredMedia {
  readonly type: 'image';
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
  /** Pixels, as its header says. */
  readonly width: number;
  readonly height: number;
}

/** A document that the user or a tool gave and that models read whole. */
export interface FileBlock extends StoredMedia {
  readonly type: 'file';
  readonly mediaType: 'application/pdf';
  readonly pages: number;
}

/** What a transcript holds beside text. */
export type MediaBlock = ImageBlock | FileBlock;

/**
 * The model's reasoning. It is bound to the vendor and model that made it:
 * an adapter sends it back only to the same vendor, and drops it for every other.
 */
export interface ReasoningBlock {
  readonly type: 'reasoning';
  readonly vendor: string;
  /** Readable text; empty if the vendor gives only an encrypted form. */
  readonly text: string;
  /** What the vendor wants back unchanged (Anthropic signature or redacted data, OpenAI encrypted content with its item id). */
  readonly opaque?: JsonObject;
}

/** A block that only its vendor reads, such as the use of a tool that the vendor itself runs: it goes back unchanged, to that vendor only. */
export interface VendorBlock {
  readonly type: 'vendor-block';
  readonly vendor: string;
  readonly content: JsonObject;
}

/** The model declined; kept as text that the model itself said. */
interface RefusalBlock {
  readonly type: 'refusal';
  readonly text: string;
}

/** A tool call as the transcript keeps it: its input parsed, its id minted by Holdfast and valid on every wire. */
export interface ToolCallBlock {
  readonly type: 'tool-call';
  /** Matches `^[a-zA-Z0-9_-]{1,64}$`, unique in the transcript. */
  readonly toolCallId: string;
  readonly name: string;
  readonly input: JsonObject;
}

/** The one answer to a tool call. */
export interface ToolResultBlock {
  readonly type: 'tool-result';
  readonly toolCallId: string;
  readonly name: string;
  /** What the model reads; never empty; already sanitized and fenced. */
  readonly content: string;
  readonly isError: boolean;
  /** The whole output, where `content` is only its head and tail. */
  readonly blob?: ContentHash;
  /** Images and documents that the tool gave. No vendor takes them in every result, so they follow the results. */
  readonly media?: readonly MediaBlock[];
}

/** A message by the user or the runtime. */
export interface UserMessage {
  readonly role: 'user';
  /** Only if the runtime put a summary in the place of older messages: the blob with the structured summary. */
  readonly summary?: ContentHash;
  /** Stored outputs that the runtime names in this message. What anybody else writes about a ref is no such name. */
  readonly refs?: readonly ContentHash[];
  readonly blocks: readonly (TextBlock | MediaBlock)[];
}

/** A message by the model. */
export interface AssistantMessage {
  readonly role: 'assistant';
  readonly vendor: string;
  readonly model: string;
  readonly blocks: readonly (
    TextBlock | ReasoningBlock | RefusalBlock | ToolCallBlock | VendorBlock
  )[];
}

/** All results of one assistant message's tool calls, in the order of the calls. */
export interface ToolMessage {
  readonly role: 'tool';
  readonly results: readonly ToolResultBlock[];
}

/** One entry of a transcript. */
export type Message = UserMessage | AssistantMessage | ToolMessage;

/** A file of text, which every model reads as text. */
interface TextFile extends Pick<FileBlock, 'type' | 'ref' | 'bytes' | 'name'> {
  readonly mediaType: string;
  readonly pages?: never;
}

/** An image or a file that is in the store; `AgentClient.upload` makes it. */
export type Attachment =
  Omit<ImageBlock, 'removed' | 'data'> | Omit<FileBlock, 'removed' | 'data'> | TextFile;

/** What a person says: a text, and what it names. */
interface SaidWithMedia {
  /** Holds the `attachmentLabel` of each attachment, in their order, where it belongs. */
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

/** A person's words, perhaps with images and files. */
export type Said = string | SaidWithMedia;

/** What a route takes beside text: the most bytes of one image and of one PDF; absent: none. */
export interface RouteMedia {
  readonly image?: number;
  readonly pdf?: number;
}
