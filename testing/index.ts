/** Entry of `holdfast/testing`: a vendor emulator for tests without keys, with real failures. */
export type { EmulatorOptions } from './emulator/emulator';
export { VendorEmulator } from './emulator/emulator';
export type { RecordedRequest } from './emulator/recorded-request';
export type { ReplyOptions, ReplyStep, ScriptedToolCall, Step } from './emulator/script';
export { fault, reply } from './emulator/script';
export type { ScriptKey, ScriptRule } from './emulator/script-queue';
export type { WireName } from './emulator/wire';
export type { ScriptedProvider, ScriptedReply, ScriptedStep } from './scripted-provider';
export { scriptedProvider } from './scripted-provider';
