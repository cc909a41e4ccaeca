// SPDX-License-Identifier: Apache-2.0
#include "fabric/ucx/ucx_worker.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "core/errors.hpp"
#include "fabric/ucx/ucx_log.hpp"

namespace anello::fabric {
namespace {

std::string words_of(ucs_status_t status) {
    const std::string words = QuietUcx::take_last_words();
    return words.empty() ? ucs_status_string(status) : fmt::format("{}: {}", ucs_status_string(status), words);
}

[[noreturn]] void fail(const std::string& action, ucs_status_t status, const std::string& remedy) {
    throw SystemError(fmt::format("{}: {}", action, words_of(status)), EIO, remedy);
}

void modify(ucp_config_t* config, const char* field, const char* name, const std::string& value) {
    if (value.empty()) return;
    const ucs_status_t status = ucp_config_modify(config, name, value.c_str());
    if (status != UCS_OK) throw ConfigError(field, words_of(status), value, "See `ucx_info -c` for what it may be");
}

std::string value_or(const std::string& value, const char* otherwise) {
    return value.empty() ? otherwise : value;
}

}  // namespace

UcxWorker::UcxWorker(const FabricConfig& config) : devices_(ucx_devices(config)) {
    QuietUcx::install();
    const QuietUcx quiet;
    try {
        open_context(config);
        const std::vector<SocketName> before = ucx_sockets::listening();
        open_worker();
        door_.emplace(ucx_sockets::added(before, ucx_sockets::listening()));
        watch(config);
    } catch (...) {
        close();
        throw;
    }
}

UcxWorker::~UcxWorker() {
    const QuietUcx quiet;
    close();
}

void UcxWorker::leave_alone() noexcept {
    poll_ = Descriptor();
    ticks_ = Descriptor();
}

void UcxWorker::close() noexcept {
    if (worker_ != nullptr) ucp_worker_destroy(worker_);
    if (context_ != nullptr) ucp_cleanup(context_);
}

void UcxWorker::open_context(const FabricConfig& config) {
    QuietUcx::take_last_words();
    ucp_config_t* read = nullptr;
    if (const ucs_status_t status = ucp_config_read(nullptr, nullptr, &read); status != UCS_OK)
        fail("cannot read the configuration of UCX", status, "Look at the UCX_ variables of the environment");
    const std::unique_ptr<ucp_config_t, void (*)(ucp_config_t*)> owned(read, &ucp_config_release);
    modify(read, "fabric.ucx_tls", "TLS", devices_.tls);
    modify(read, "fabric.ucx_net_devices", "NET_DEVICES", devices_.net_devices);
    modify(read, "fabric.ucx_tls", "ZCOPY_THRESH", devices_.zcopy_threshold);
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS | UCP_PARAM_FIELD_NAME;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP;
    params.estimated_num_eps = config.n_peers;
    params.name = "anello";
    if (const ucs_status_t status = ucp_init(&params, read, &context_); status != UCS_OK) {
        context_ = nullptr;
        throw ConfigError("fabric.ucx_tls", "must name transports and devices that are here: " + words_of(status),
                          fmt::format("UCX_TLS={}, UCX_NET_DEVICES={}", value_or(devices_.tls, "all"),
                                      value_or(devices_.net_devices, "all")),
                          "`ucx_info -d` lists them; tcp is everywhere");
    }
    warning_ = QuietUcx::take_last_words();
}

void UcxWorker::open_worker() {
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // one thread opens it, another one uses it
    if (const ucs_status_t status = ucp_worker_create(context_, &params, &worker_); status != UCS_OK) {
        worker_ = nullptr;
        fail("cannot open UCX's transports", status,
             "Raise the limits of open files, shared memory and locked memory, or name one in fabric.ucx_tls");
    }
}

void UcxWorker::watch(const FabricConfig& config) {
    int ready = -1;
    if (const ucs_status_t status = ucp_worker_get_efd(worker_, &ready); status != UCS_OK)
        fail("these transports of UCX cannot be waited for", status, "Set fabric.ucx_tls, e.g. to tcp or shm,self");
    const std::string remedy = "Raise the limit of open files: `ulimit -n`";
    poll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
    ticks_ = Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    if (!poll_.open() || !ticks_.open()) throw SystemError("cannot wait for UCX", errno, remedy);
    const Nanoseconds period_ns = std::max<Nanoseconds>(config.heartbeat_ns / 4, 1'000'000);
    itimerspec period{};
    period.it_interval = {period_ns / 1'000'000'000, period_ns % 1'000'000'000};
    period.it_value = period.it_interval;
    timerfd_settime(ticks_.number(), 0, &period, nullptr);
    for (const int descriptor : {ready, ticks_.number()}) {
        epoll_event interest{};
        interest.events = EPOLLIN;
        if (epoll_ctl(poll_.number(), EPOLL_CTL_ADD, descriptor, &interest) != 0)
            throw SystemError("cannot wait for UCX", errno, remedy);
    }
}

void UcxWorker::on_message(ucp_am_recv_callback_t callback, void* argument) {
    ucp_am_handler_param_t params{};
    params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                        UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    params.id = ucx_message_id;
    params.flags = UCP_AM_FLAG_WHOLE_MSG;
    params.cb = callback;
    params.arg = argument;
    if (const ucs_status_t status = ucp_worker_set_am_recv_handler(worker_, &params); status != UCS_OK)
        fail("UCX takes no active messages", status, "Use UCX 1.13 or newer");
}

std::vector<std::byte> UcxWorker::address() const {
    const QuietUcx quiet;
    ucp_address_t* address = nullptr;
    std::size_t n_bytes = 0;
    if (const ucs_status_t status = ucp_worker_get_address(worker_, &address, &n_bytes); status != UCS_OK)
        fail("UCX gives no address", status, "Look at `ucx_info -w`");
    const auto* begin = reinterpret_cast<const std::byte*>(address);
    std::vector<std::byte> bytes(begin, begin + n_bytes);
    ucp_worker_release_address(worker_, address);
    return bytes;
}

bool UcxWorker::arm() noexcept {
    armed_ = ucp_worker_arm(worker_) == UCS_OK;
    return armed_;
}

void UcxWorker::wake() noexcept {
    ucp_worker_signal(worker_);
}

void UcxWorker::take_tick() noexcept {
    if (!armed_) return;
    armed_ = false;
    std::uint64_t n_ticks = 0;
    (void)!read(ticks_.number(), &n_ticks, sizeof n_ticks);  // fails if there was no tick
}

std::string UcxWorker::describe() const {
    unsigned major = 0, minor = 0, release = 0;
    ucp_get_version(&major, &minor, &release);
    return fmt::format("UCX {}.{}.{} (built with {}.{}), UCX_TLS={}, UCX_NET_DEVICES={}{}{}", major, minor, release,
                       UCP_API_MAJOR, UCP_API_MINOR, value_or(devices_.tls, "all"),
                       value_or(devices_.net_devices, "all"), warning_.empty() ? "" : "; UCX warns: ", warning_);
}

}  // namespace anello::fabric
